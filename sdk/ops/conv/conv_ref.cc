#include "sdk/ops/conv/conv.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/accumulate.h"
#include "sdk/ops/shared/dispatch.h"

namespace vireo {
namespace {

Status run_conv(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  const Tensor& w = *ctx.in(1);
  const Tensor* b = ctx.in(2);
  Tensor& y = *ctx.out(0);
  const auto& a = ctx.attrs<attrs::Conv>();
  const Geometry g = conv_geometry(a, x.shape, w.shape, y.shape);
  const int64_t per_group_out = g.channels_out / a.group(), per_group_in = w.shape[1];
  const int64_t filter = product(w.shape, 1, w.shape.rank);
  return dispatch_float(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    using A = accumulate_t<T>;
    for_each_output(ctx.parallel, g, [&](int64_t n, int64_t m, const int64_t* o, int64_t at) {
      const T* image = x.as<const T>() + n * g.x.batch + m / per_group_out * per_group_in * g.x.channel;
      const A sum = window_sum<A>(g, image, w.as<const T>() + m * filter, per_group_in, o,
                                  [](T xv, T wv) { return to_sum<A>(xv) * to_sum<A>(wv); });
      y.as<T>()[at] = from_sum<T>(b != nullptr ? sum + to_sum<A>(b->as<const T>()[m]) : sum);
    });
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kConvRef;
const RefKernel kConvRef = {run_conv, nullptr};

}  // namespace vireo
