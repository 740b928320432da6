// Convolution (cross-correlation) in 1, 2 or 3 spatial dimensions:
//   y[n,m,o] = b[m] + sum_{c,k} x[n, g*C/G + c, o*stride + k*dilation - pad] * w[m,c,k],  g = m / (M/G)
//   x   [N, C, spatial...] or [N, spatial..., C] (layout); f32, f64, f16, bf16
//   w   [M, C/G, kernel...] in both layouts; b [M] or absent; dtype of x
//   y   [N, M, out...] or [N, out..., M]
//   alias none; scratch none
// Source: ONNX opset 22 "Conv".
#ifndef VIREO_SDK_OPS_CONV_CONV_H_
#define VIREO_SDK_OPS_CONV_CONV_H_

#include "sdk/base/parallel.h"
#include "sdk/ops/shared/window.h"

namespace vireo {

// Shape function shared by the convolutions, whatever their dtypes: `x` and `w` are input numbers. Sets the shape of
// output 0.
template <class Attrs>
Window read_conv_window(const Attrs& a, int rank) {
  return read_window(rank, a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads());
}
template <class Attrs>
Status infer_conv_shape(InferContext& ctx, const Attrs& a, int x, int w) {
  Window win;
  VIREO_TRY(check_window(ctx, x, a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads(), &win));
  const Shape& xs = ctx.input(x).shape;
  const Shape& ws = ctx.input(w).shape;
  if (ws.rank != xs.rank) {
    return ctx.fail(Status::kInvalidModel, "weights {} have another rank than the input {}", ws, xs);
  }
  const Dim group = a.group();
  if (group < 1) return ctx.fail(Status::kInvalidModel, "group is {}, wanted at least 1", group);
  const Dim channels = xs[win.channel_axis()];
  if (ctx.differ(channels, ctx.mul(ws[1], group))) {
    return ctx.fail(Status::kInvalidModel, "weights are {} with {} groups but the input has {} channels", ws, group,
                    channels);
  }
  if (!is_symbolic(ws[0]) && ws[0] % group != 0) {
    return ctx.fail(Status::kInvalidModel, "{} output channels do not divide into {} groups", ws[0], group);
  }
  Shape& y = ctx.output(0).shape;
  y.rank = xs.rank;
  y[0] = xs[0];
  y[win.channel_axis()] = ws[0];
  for (int i = 0; i < win.spatial; ++i) {
    win.kernel[i] = ws[i + 2];
    VIREO_TRY(window_extent(ctx, win, i, xs[win.spatial_axis(i)], &y[win.spatial_axis(i)]));
  }
  return Status::kOk;
}

template <class Attrs>
Geometry conv_geometry(const Attrs& a, const Shape& x, const Shape& w, const Shape& y) {
  Window win = read_conv_window(a, x.rank);
  for (int i = 0; i < win.spatial; ++i) win.kernel[i] = w[i + 2];
  return make_geometry(win, x, y);
}

// sum_{c,k} product(x, w) of one output: `x` at its image and first channel of the group, `w` at its filter [C/G,
// kernel...], `o` the output's position. Taps in the padding are left out. W: a pointer, or what reads as one.
template <class A, class X, class W, class Product>
A window_sum(const Geometry& g, const X* x, W w, int64_t channels, const int64_t* o, const Product& product) {
  A sum = 0;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
      const int64_t id = o[0] * g.stride[0] + kd * g.dilation[0] - g.pad[0];
      for (int64_t kh = 0; kh < g.kernel[1]; ++kh) {
        const int64_t ih = o[1] * g.stride[1] + kh * g.dilation[1] - g.pad[1];
        if (id < 0 || id >= g.in[0] || ih < 0 || ih >= g.in[1]) continue;
        const X* row = x + c * g.x.channel + id * g.x.step[0] + ih * g.x.step[1];
        const W tap = w + ((c * g.kernel[0] + kd) * g.kernel[1] + kh) * g.kernel[2];
        for (int64_t kw = 0; kw < g.kernel[2]; ++kw) {
          const int64_t iw = o[2] * g.stride[2] + kw * g.dilation[2] - g.pad[2];
          if (iw >= 0 && iw < g.in[2]) sum += product(row[iw * g.x.step[2]], tap[kw]);
        }
      }
    }
  }
  return sum;
}

// Calls f(image, output channel, position, offset of the element in y) for each output.
template <class F>
void for_each_output(const Parallel& parallel, const Geometry& g, const F& f) {
  parallel.for_range(g.batch * g.channels_out, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / g.channels_out, m = i % g.channels_out;
      int64_t o[kMaxSpatial];
      for (o[0] = 0; o[0] < g.out[0]; ++o[0]) {
        for (o[1] = 0; o[1] < g.out[1]; ++o[1]) {
          for (o[2] = 0; o[2] < g.out[2]; ++o[2]) {
            f(n, m, o, n * g.y.batch + m * g.y.channel + o[0] * g.y.step[0] + o[1] * g.y.step[1] + o[2] * g.y.step[2]);
          }
        }
      }
    }
  });
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_CONV_CONV_H_
