// Weights of products in float16: see fp16.cc.
#ifndef VIREO_QUANT_SCHEMES_FP16_H_
#define VIREO_QUANT_SCHEMES_FP16_H_

#include "quant/schemes/scheme.h"

namespace vireo::quant {

extern const Scheme kFp16;

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SCHEMES_FP16_H_
