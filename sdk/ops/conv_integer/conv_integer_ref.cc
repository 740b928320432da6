#include "sdk/base/requantize.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/conv_integer/conv_integer_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/integer_product.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

// Calls f(acc, output channel, element of y) for each element of y.
template <class F>
void for_each_sum(const KernelContext& ctx, const Tensor& x_in, const Tensor* x_zero, const Tensor& w_in,
                  const Tensor* w_zero, const F& f) {
  const auto& a = ctx.attrs<attrs::ConvInteger>();
  const Geometry g = conv_geometry(a, x_in.shape, w_in.shape, ctx.out(0)->shape);
  const ByteOperand x(x_in, x_zero), w(w_in, w_zero);
  const int32_t zx = x.zero(0);
  const int64_t per_group_out = g.channels_out / a.group(), per_group_in = w_in.shape[1];
  const int64_t filter = product(w_in.shape, 1, w_in.shape.rank);
  for_each_output(ctx.parallel, g, [&](int64_t n, int64_t m, const int64_t* o, int64_t at) {
    const int32_t zw = w.zero(m);
    const uint8_t* image = x.data + n * g.x.batch + m / per_group_out * per_group_in * g.x.channel;
    const uint32_t acc = window_sum<uint32_t>(
        g, image, w.data + m * filter, per_group_in, o,
        [&](uint8_t xv, uint8_t wv) { return static_cast<uint32_t>((x.value(xv) - zx) * (w.value(wv) - zw)); });
    f(acc, m, at);
  });
}

Status run_integer(const KernelContext& ctx) {
  int32_t* y = ctx.out(0)->as<int32_t>();
  for_each_sum(ctx, *ctx.in(0), ctx.in(2), *ctx.in(1), ctx.in(3),
               [&](uint32_t acc, int64_t, int64_t at) { y[at] = static_cast<int32_t>(acc); });
  return Status::kOk;
}

Status run_qlinear(const KernelContext& ctx) {
  const Tensor& y = *ctx.out(0);
  const bool is_signed = y.dtype == DType::kI8;
  const int32_t low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
  const float x_scale = *ctx.in(1)->as<const float>(), y_scale = *ctx.in(6)->as<const float>();
  const float* w_scale = ctx.in(4)->as<const float>();
  const int64_t per_channel = ctx.in(4)->count() == 1 ? 0 : 1;
  const int32_t zero_point = static_cast<int32_t>(read_integer(y.dtype, ctx.in(7)->data, 0));
  const int32_t* bias = ctx.in(8) != nullptr ? ctx.in(8)->as<const int32_t>() : nullptr;
  for_each_sum(ctx, *ctx.in(0), ctx.in(2), *ctx.in(3), ctx.in(5), [&](uint32_t acc, int64_t m, int64_t at) {
    if (bias != nullptr) acc += static_cast<uint32_t>(bias[m]);
    const float factor = x_scale * w_scale[m * per_channel] / y_scale;
    y.as<uint8_t>()[at] = static_cast<uint8_t>(requantize(static_cast<int32_t>(acc), factor, zero_point, low, high));
  });
  return Status::kOk;
}

}  // namespace

extern const RefKernel kConvIntegerRef;
const RefKernel kConvIntegerRef = {run_integer, nullptr};
extern const RefKernel kQLinearConvRef;
const RefKernel kQLinearConvRef = {run_qlinear, nullptr};

}  // namespace vireo
