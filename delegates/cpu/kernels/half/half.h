// Between float16 in memory and float32, rounded to nearest even as sdk/base/half.h does it.
#ifndef VIREO_DELEGATES_CPU_KERNELS_HALF_HALF_H_
#define VIREO_DELEGATES_CPU_KERNELS_HALF_HALF_H_

#include <stdint.h>

#include "sdk/base/parallel.h"

namespace vireo::cpu {

void f32_from_f16(const uint16_t* x, float* y, int64_t count, const Parallel& parallel);
void f16_from_f32(const float* x, uint16_t* y, int64_t count, const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_HALF_HALF_H_
