// Sliding windows: what convolutions and pools have in common. One, two or three spatial dimensions.
//   out = floor((in + pad_begin + pad_end - dilation * (kernel - 1) - 1) / stride) + 1
// Source: ONNX "Conv", "AveragePool".
#ifndef VIREO_SDK_OPS_SHARED_WINDOW_H_
#define VIREO_SDK_OPS_SHARED_WINDOW_H_

#include <stdint.h>

#include "sdk/ops/shared/infer.h"

namespace vireo {

constexpr int kMaxSpatial = 3;

// Where channels stand in x and y: [N, C, spatial...] or [N, spatial..., C]. Filters are [O, I / group, kernel...] in
// both.
enum class Layout : uint8_t { kNchw = 0, kNhwc = 1 };

// kSameUpper, kSameLower: out = ceil(in / stride), padding split in halves with the odd one at the end or the
// beginning. Kept as it is, and not turned into numbers on import, because the extents may be symbolic.
enum class AutoPad : uint8_t { kNotSet = 0, kSameUpper = 1, kSameLower = 2, kValid = 3 };

using IntVector = ::flatbuffers::Vector<int32_t>;

struct Window {
  int spatial = 0;
  Layout layout = Layout::kNchw;
  AutoPad auto_pad = AutoPad::kNotSet;
  bool ceil_mode = false;  // windows that start inside the input or its left padding count, even when they end outside
  Dim kernel[kMaxSpatial] = {1, 1, 1};
  int64_t stride[kMaxSpatial] = {1, 1, 1};
  int64_t dilation[kMaxSpatial] = {1, 1, 1};
  int64_t pad_begin[kMaxSpatial] = {};
  int64_t pad_end[kMaxSpatial] = {};

  int channel_axis() const { return layout == Layout::kNchw ? 1 : spatial + 1; }
  int spatial_axis(int i) const { return layout == Layout::kNchw ? i + 2 : i + 1; }
};

// Reads attributes; empty vectors mean 1 (strides, dilations) and 0 (pads). Kernel extents are left to the caller.
Window read_window(int rank, uint8_t layout, uint8_t auto_pad, const IntVector* strides, const IntVector* dilations,
                   const IntVector* pads);
// As read_window, after checking the rank of input `x` and the attributes' lengths and signs.
Status check_window(InferContext& ctx, int x, uint8_t layout, uint8_t auto_pad, const IntVector* strides,
                    const IntVector* dilations, const IntVector* pads, Window* out);
// Extent of the output along spatial dimension i of an input that has `in` there. Checks the kernel's extent.
Status window_extent(InferContext& ctx, const Window& w, int i, Dim in, Dim* out);
// Begin and end padding of SAME_UPPER and SAME_LOWER, now that extents are numbers.
void resolve_auto_pad(Window* w, const Shape& x, const Shape& y);

// Numbers for kernels: always three spatial dimensions, leading ones of extent 1, and element strides of both tensors.
struct Strides {
  int64_t batch, channel, step[kMaxSpatial];
};
struct Geometry {
  int64_t batch, channels_in, channels_out;
  int64_t in[kMaxSpatial], out[kMaxSpatial], kernel[kMaxSpatial];
  int64_t stride[kMaxSpatial], dilation[kMaxSpatial], pad[kMaxSpatial], pad_end[kMaxSpatial];
  Strides x, y;
};
// `w`: kernel extents set. Shapes as the shape function left them; auto_pad is resolved here.
Geometry make_geometry(Window w, const Shape& x, const Shape& y);

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_WINDOW_H_
