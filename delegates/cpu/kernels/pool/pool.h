// Max and average pooling, NCHW float32.
#ifndef VIREO_DELEGATES_CPU_KERNELS_POOL_POOL_H_
#define VIREO_DELEGATES_CPU_KERNELS_POOL_POOL_H_

#include <stddef.h>

#include "delegates/cpu/kernels/window.h"
#include "sdk/base/parallel.h"

namespace vireo::cpu {

enum class PoolKind : uint8_t {
  kMax,             // NaN in the window gives NaN
  kAverage,         // divided by the number of inputs that the window sees
  kAverageWithPad,  // divided as if padding were input (count_include_pad); not beyond pad_bottom and pad_right
};

struct PoolF32 {
  int64_t planes = 1;  // N * C
  Window window;
  int64_t pad_bottom = 0, pad_right = 0;  // read by kAverageWithPad alone
  PoolKind kind = PoolKind::kMax;
};

// Enough for all smaller images.
size_t pool_f32_scratch_bytes(const PoolF32& shape, int32_t slots);

// x [planes, H, W], y [planes, OH, OW], which overlap nothing. Every window sees at least one input.
void pool_f32(const PoolF32& shape, const float* x, float* y, const Parallel& parallel, void* scratch);

// y[plane] over `area` neighbouring floats each (global pooling): the mean, or the maximum.
void global_average_f32(const float* x, float* y, int64_t planes, int64_t area, const Parallel& parallel);
void global_max_f32(const float* x, float* y, int64_t planes, int64_t area, const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_POOL_POOL_H_
