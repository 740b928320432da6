#include <math.h>

#include "sdk/ops/deform_conv/deform_conv_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/accumulate.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/window.h"

namespace vireo {
namespace {

// Bilinear sample of an image [rows, columns] that is 0 outside.
template <class A, class T>
A sample(const T* image, int64_t rows, int64_t columns, A r, A c) {
  if (!(r > -1 && r < static_cast<A>(rows) && c > -1 && c < static_cast<A>(columns))) return 0;  // also NaN
  const A r0 = static_cast<A>(floor(r)), c0 = static_cast<A>(floor(c));
  const A fr = r - r0, fc = c - c0;
  const int64_t ir = static_cast<int64_t>(r0), ic = static_cast<int64_t>(c0);
  const auto at = [&](int64_t i, int64_t j) {
    return i >= 0 && i < rows && j >= 0 && j < columns ? to_sum<A>(image[i * columns + j]) : A{0};
  };
  return (1 - fr) * ((1 - fc) * at(ir, ic) + fc * at(ir, ic + 1)) +
         fr * ((1 - fc) * at(ir + 1, ic) + fc * at(ir + 1, ic + 1));
}

template <class T>
void deform_conv(const KernelContext& ctx) {
  using A = accumulate_t<T>;
  const auto& a = ctx.attrs<attrs::DeformConv>();
  const Shape& xs = ctx.in(0)->shape;
  const Shape& ws = ctx.in(1)->shape;
  const Shape& ys = ctx.out(0)->shape;
  const T* x = ctx.in(0)->as<const T>();
  const T* w = ctx.in(1)->as<const T>();
  const T* offset = ctx.in(2)->as<const T>();
  const T* bias = ctx.in(3) != nullptr ? ctx.in(3)->as<const T>() : nullptr;
  const T* mask = ctx.in(4) != nullptr ? ctx.in(4)->as<const T>() : nullptr;
  T* y = ctx.out(0)->as<T>();
  const Window win = read_window(4, 0, 0, a.strides(), a.dilations(), a.pads());
  const int64_t per_group_in = ws[1], per_group_out = ws[0] / a.group(), taps = ws[2] * ws[3];
  const int64_t per_offset_group = xs[1] / a.offset_group(), area = ys[2] * ys[3];
  ctx.parallel.for_range(ys[0] * ys[1], 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / ys[1], m = i % ys[1];
      for (int64_t o = 0; o < area; ++o) {
        A sum = bias != nullptr ? to_sum<A>(bias[m]) : A{0};
        for (int64_t c = 0; c < per_group_in; ++c) {
          const int64_t channel = m / per_group_out * per_group_in + c;
          const int64_t first_tap = (n * a.offset_group() + channel / per_offset_group) * taps;
          const T* image = x + (n * xs[1] + channel) * xs[2] * xs[3];
          for (int64_t k = 0; k < taps; ++k) {
            const int64_t row = o / ys[3] * win.stride[0] - win.pad_begin[0] + k / ws[3] * win.dilation[0];
            const int64_t column = o % ys[3] * win.stride[1] - win.pad_begin[1] + k % ws[3] * win.dilation[1];
            const A r = static_cast<A>(row) + to_sum<A>(offset[(first_tap + k) * 2 * area + o]);
            const A q = static_cast<A>(column) + to_sum<A>(offset[((first_tap + k) * 2 + 1) * area + o]);
            const A weight = to_sum<A>(w[(m * per_group_in + c) * taps + k]);
            sum += sample<A>(image, xs[2], xs[3], r, q) * weight *
                   (mask != nullptr ? to_sum<A>(mask[(first_tap + k) * area + o]) : A{1});
          }
        }
        y[i * area + o] = from_sum<T>(sum);
      }
    }
  });
}

Status run_deform_conv(const KernelContext& ctx) {
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) {
    deform_conv<decltype(tag)>(ctx);
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kDeformConvRef;
const RefKernel kDeformConvRef = {run_deform_conv, nullptr};

}  // namespace vireo
