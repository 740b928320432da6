// Max and average pooling, NHWC float32: vectors run along the channels.
#ifndef VIREO_DELEGATES_CPU_KERNELS_POOL_NHWC_POOL_NHWC_H_
#define VIREO_DELEGATES_CPU_KERNELS_POOL_NHWC_POOL_NHWC_H_

#include "delegates/cpu/kernels/pool/pool.h"

namespace vireo::cpu {

// shape.planes is N * channels. x [N, H, W, C], y [N, OH, OW, C], which overlap nothing. Every window sees an input.
void pool_nhwc_f32(const PoolF32& shape, int64_t channels, const float* x, float* y, const Parallel& parallel);

// y[n, c] over the `area` pixels of x [n, area, channels]: the mean, or the maximum.
void global_average_nhwc_f32(const float* x, float* y, int64_t n, int64_t area, int64_t channels,
                             const Parallel& parallel);
void global_max_nhwc_f32(const float* x, float* y, int64_t n, int64_t area, int64_t channels, const Parallel& parallel);

// The same in bfloat16: sums in float32, rounded once.
void pool_nhwc_bf16(const PoolF32& shape, int64_t channels, const uint16_t* x, uint16_t* y, const Parallel& parallel);
void global_average_nhwc_bf16(const uint16_t* x, uint16_t* y, int64_t n, int64_t area, int64_t channels,
                              const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_POOL_NHWC_POOL_NHWC_H_
