// Depthwise convolution of 8-bit codes, channels last, one output a channel: x [N, H, W, C], weights [C, KH, KW],
// y [N, OH, OW, C]. Exact as depthwise_i8, whose shape it takes; ends in codes.
#ifndef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_I8_DEPTHWISE_NHWC_I8_H_
#define VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_I8_DEPTHWISE_NHWC_I8_H_

#include "delegates/cpu/kernels/depthwise_i8/depthwise_i8.h"

namespace vireo::cpu {

// Of `shape` only the sizes are read. Enough for all smaller sizes.
size_t depthwise_nhwc_i8_scratch_bytes(const DepthwiseI8& shape, int32_t slots);
// shape.multiplier and shape.depth are 1, shape.finish is not null; its rows are channels.
void depthwise_nhwc_i8(const DepthwiseI8& shape, const uint8_t* x, const void* weights, uint8_t* y,
                       const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_I8_DEPTHWISE_NHWC_I8_H_
