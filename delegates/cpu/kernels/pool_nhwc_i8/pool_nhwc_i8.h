// Max and average pooling of 8-bit codes, channels last: x [N, H, W, C]. What they compute is pool_i8's.
#ifndef VIREO_DELEGATES_CPU_KERNELS_POOL_NHWC_I8_POOL_NHWC_I8_H_
#define VIREO_DELEGATES_CPU_KERNELS_POOL_NHWC_I8_POOL_NHWC_I8_H_

#include "delegates/cpu/kernels/pool_i8/pool_i8.h"

namespace vireo::cpu {

// shape.planes is N * channels. No scratch memory.
void pool_nhwc_i8(const PoolI8& shape, int64_t channels, const uint8_t* x, uint8_t* y, const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_POOL_NHWC_I8_POOL_NHWC_I8_H_
