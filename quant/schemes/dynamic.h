// Products of codes whose values are quantized in the run, by their own range: no sample data.
#ifndef VIREO_QUANT_SCHEMES_DYNAMIC_H_
#define VIREO_QUANT_SCHEMES_DYNAMIC_H_

#include "quant/schemes/scheme.h"

namespace vireo::quant {

extern const Scheme kInt8Dynamic;  // "int8-dynamic"

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SCHEMES_DYNAMIC_H_
