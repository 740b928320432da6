// Depthwise convolution, NHWC float32: each channel sees itself; vectors run along the channels.
#ifndef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_DEPTHWISE_NHWC_H_
#define VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_DEPTHWISE_NHWC_H_

#include "delegates/cpu/kernels/depthwise/depthwise.h"

namespace vireo::cpu {

// For the filters, turned to [kh, kw, C], and one pixel of zeros.
size_t depthwise_nhwc_f32_scratch_bytes(const DepthwiseF32& shape);

// multiplier is 1. x [N, H, W, C], weights [C, 1, kh, kw], y and residual [N, OH, OW, C]; y overlaps nothing.
void depthwise_nhwc_f32(const DepthwiseF32& shape, const float* x, const float* weights, float* y,
                        const Parallel& parallel, void* scratch);

// x, weights and y in bfloat16, sums in float32, y rounded once. No residual, no slopes, and an activation for which
// depthwise_nhwc_ends() holds. Scratch is the same.
bool depthwise_nhwc_ends(Activation kind);
void depthwise_nhwc_bf16(const DepthwiseF32& shape, const uint16_t* x, const uint16_t* weights, uint16_t* y,
                         const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_DEPTHWISE_NHWC_H_
