// Products in bfloat16: see bf16.cc.
#ifndef VIREO_QUANT_SCHEMES_BF16_H_
#define VIREO_QUANT_SCHEMES_BF16_H_

#include "quant/schemes/scheme.h"

namespace vireo::quant {

extern const Scheme kBf16;

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SCHEMES_BF16_H_
