// Weights of products in codes of 4 or 8 bits; all else stays float32.
#ifndef VIREO_QUANT_SCHEMES_WEIGHTS_H_
#define VIREO_QUANT_SCHEMES_WEIGHTS_H_

#include "quant/schemes/scheme.h"

namespace vireo::quant {

extern const Scheme kInt4;         // "int4": a scale for each 32 weights of a column
extern const Scheme kInt8Weights;  // "int8-weights": a scale for each column

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SCHEMES_WEIGHTS_H_
