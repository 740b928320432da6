// Convolution and its transpose, float32, channels first (N C [D [H]] W), over one to three spatial axes.
#ifndef VIREO_DELEGATES_CPU_KERNELS_CONV_CONV_H_
#define VIREO_DELEGATES_CPU_KERNELS_CONV_CONV_H_

#include <stddef.h>
#include <stdint.h>

#include "delegates/cpu/kernels/activation/activation.h"
#include "delegates/cpu/kernels/scratch.h"
#include "sdk/base/parallel.h"

namespace vireo::cpu {

// Spatial axes are always D, H, W here; missing ones (1-D: D and H) have size, kernel, stride and dilation 1, pad 0.
//   y[n, o, z, y, x] = act(bias[o] + residual + sum_{i, kz, ky, kx} w[o, i, kz, ky, kx]
//                          * x[n, i, z stride_d - pad_d + kz dilation_d, ...]),  zero outside the input
struct ConvF32 {
  int64_t n = 1, in_channels = 1, out_channels = 1, groups = 1;
  int64_t in[3] = {1, 1, 1};
  int64_t out[3] = {1, 1, 1};
  int64_t kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1};
  int64_t dilation[3] = {1, 1, 1};
  int64_t pad[3] = {0, 0, 0};       // at the beginning of each axis; the output's size implies the end
  const float* bias = nullptr;      // [O] or null
  const float* residual = nullptr;  // shaped like y, or null
  bool residual_last = false;       // added after `act`
  bool residual_times = false;      // multiplied after `act` instead
  Activate act;
  const float* slope = nullptr;   // [O] or null. PRelu in place of `act`: x < 0 ? slope[o] x : x
  const float* packed = nullptr;  // channels last: filters as pack_conv_nhwc_f32 wrote them, in place of `weights`
  const uint16_t* packed_f16 = nullptr;  // the same in float16, as pack_conv_f16 wrote them

  bool has_tail() const { return act.kind != Activation::kNone || slope != nullptr || residual != nullptr; }
};

// Scratch depends on sizes and slots alone. 1 x 1 convolutions at stride 1 are matrix products over x as it lies; one
// input channel per group goes to `depthwise`, few filters to `direct`; all else packs the input patches of a few
// output columns at a time. Where lines have one element (W = 1), columns take their place.
size_t conv_f32_scratch_bytes(const ConvF32& shape, int32_t slots, Sizes sizes = Sizes::kUpperBounds);

// x [N, C, D, H, W], weights [O, C / groups, kd, kh, kw], y [N, O, OD, OH, OW], which overlaps nothing.
void conv_f32(const ConvF32& shape, const float* x, const float* weights, float* y, const Parallel& parallel,
              void* scratch);

// The transpose (ONNX ConvTranspose): each input element adds its weighted kernel to the output. Fields as above, with
// x the small side: y[z stride_d - pad_d + kz dilation_d, ...] += w * x[z, ...]; `out` is given. weights [C, O /
// groups, kd, kh, kw], or `packed`: [groups, O / groups, taps, C / groups].
size_t conv_transpose_f32_scratch_bytes(const ConvF32& shape, int32_t slots, Sizes sizes = Sizes::kUpperBounds,
                                        bool packed = false);
// Floats of packed filters; 0 where channels or pixels of the input are so few that packing brings nothing.
size_t transposed_f32_packed_floats(const ConvF32& shape);
void conv_transpose_f32(const ConvF32& shape, const float* x, const float* weights, float* y, const Parallel& parallel,
                        void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_CONV_CONV_H_
