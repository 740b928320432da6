// The sizes of a transposed convolution, for all its kernels; the contract is in conv_transpose_infer.cc.
#ifndef VIREO_SDK_OPS_CONV_TRANSPOSE_CONV_TRANSPOSE_H_
#define VIREO_SDK_OPS_CONV_TRANSPOSE_CONV_TRANSPOSE_H_

#include "sdk/ops/conv_transpose/conv_transpose_generated.h"
#include "sdk/ops/shared/window.h"

namespace vireo {

// Shapes as the shape function left them. Padding that follows from the output's extents is resolved.
inline Geometry conv_transpose_geometry(const attrs::ConvTranspose& a, const Shape& x, const Shape& w, const Shape& y) {
  Window win = read_window(x.rank, a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads());
  const bool given = a.output_shape() != nullptr && a.output_shape()->size() != 0;
  const bool same = win.auto_pad == AutoPad::kSameUpper || win.auto_pad == AutoPad::kSameLower;
  for (int i = 0; i < win.spatial; ++i) {
    win.kernel[i] = w[i + 2];
    if (!given && !same) continue;
    const unsigned u = static_cast<unsigned>(i);
    const int64_t extra =
        a.output_padding() != nullptr && a.output_padding()->size() != 0 ? a.output_padding()->Get(u) : 0;
    const int axis = win.spatial_axis(i);
    const int64_t span = win.stride[i] * (x[axis] - 1) + extra + win.dilation[i] * (win.kernel[i] - 1) + 1;
    const int64_t total = span > y[axis] ? span - y[axis] : 0;
    win.pad_begin[i] = win.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
  }
  win.auto_pad = AutoPad::kNotSet;  // resolved above
  return make_geometry(win, x, y);
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_CONV_TRANSPOSE_CONV_TRANSPOSE_H_
