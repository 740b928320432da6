// Convolution, float32, channels last (N [D [H]] W C), over one to three spatial axes.
//
// A matrix product whose rows are pixels and whose columns are output channels: A is x as it lies (1 x 1 windows, and
// windows along a row without padding) or the patches of some pixels, B the filters. Filters lie [O, C / groups,
// kernel...] as everywhere, so B is packed: ahead of all runs, or else in each of them. What that costs is shared by
// all pixels, and is why few pixels with many filters that are not packed ahead go better channels first.
#ifndef VIREO_DELEGATES_CPU_KERNELS_CONV_NHWC_CONV_NHWC_H_
#define VIREO_DELEGATES_CPU_KERNELS_CONV_NHWC_CONV_NHWC_H_

#include "delegates/cpu/kernels/conv/conv.h"

namespace vireo::cpu {

// Floats that the filters take packed; 0 where they are read as they lie (depthwise).
int64_t conv_nhwc_f32_packed_floats(const ConvF32& shape);
void pack_conv_nhwc_f32(const ConvF32& shape, const float* weights, const Parallel& parallel, float* packed);

// Scratch depends on sizes, slots and whether filters are packed (`packed`: that they will be) alone.
size_t conv_nhwc_f32_scratch_bytes(const ConvF32& shape, int32_t slots, Sizes sizes = Sizes::kUpperBounds,
                                   bool packed = false);

// x [N, D, H, W, C], weights [O, C / groups, kd, kh, kw], y and residual [N, OD, OH, OW, O]; y overlaps nothing.
void conv_nhwc_f32(const ConvF32& shape, const float* x, const float* weights, float* y, const Parallel& parallel,
                   void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_CONV_NHWC_CONV_NHWC_H_
