#include <type_traits>

#include "sdk/ops/conv/conv.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

// Sums of x_value(code) * w_value(code, channel) in A.
template <class A, class X, class W, class XValue, class WValue>
void run(const KernelContext& ctx, const X* x, W w, const XValue& x_value, const WValue& w_value) {
  const auto& a = ctx.attrs<attrs::IntConv>();
  const Tensor &x_in = *ctx.in(0), &w_in = *ctx.in(1), &m = *ctx.in(2);
  const Geometry g = conv_geometry(a, x_in.shape, w_in.shape, ctx.out(0)->shape);
  const int64_t per_group_out = g.channels_out / a.group(), per_group_in = w_in.shape[1];
  const int64_t filter = product(w_in.shape, 1, w_in.shape.rank);
  const float* multipliers = m.as<const float>();
  const bool many = m.count() != 1;
  const int32_t* bias = ctx.in(3) != nullptr ? ctx.in(3)->as<const int32_t>() : nullptr;
  const Codes codes(a);
  uint8_t* y = ctx.out(0)->as<uint8_t>();
  for_each_output(ctx.parallel, g, [&](int64_t n, int64_t c, const int64_t* o, int64_t at) {
    const X* image = x + n * g.x.batch + c / per_group_out * per_group_in * g.x.channel;
    A acc = window_sum<A>(g, image, w + c * filter, per_group_in, o,
                          [&](X xv, auto wv) { return static_cast<A>(x_value(xv) * w_value(wv, c)); });
    if (bias != nullptr) acc += static_cast<A>(bias[c]);
    codes.put_sum(y, at, static_cast<std::make_signed_t<A>>(acc), multipliers[many ? c : 0]);
  });
}

Status run_int_conv(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntConv>();
  const Tensor &x_in = *ctx.in(0), &w_in = *ctx.in(1);
  const ByteOperand w(w_in, ctx.in(4));
  const auto weight = [&](uint8_t wv, int64_t c) { return w.value(wv) - w.zero(c); };
  if (is_half_word(x_in.dtype)) {
    const HalfWordOperand x(x_in);
    const int32_t zx = x.value(static_cast<uint16_t>(a.x_zero()));
    run<int64_t>(
        ctx, x.data, w.data, [&](uint16_t xv) { return x.value(xv) - zx; },
        [&](uint8_t wv, int64_t c) { return int64_t{weight(wv, c)}; });
    return Status::kOk;
  }
  const ByteOperand x(x_in, nullptr);
  const int32_t zx = x.value(static_cast<uint8_t>(a.x_zero()));
  const auto value = [&](uint8_t xv) { return x.value(xv) - zx; };
  if (w_in.dtype == DType::kI4) {
    run<uint32_t>(ctx, x.data, NibbleReader{w.data}, value, [&](int32_t wv, int64_t c) { return wv - w.zero(c); });
  } else {
    run<uint32_t>(ctx, x.data, w.data, value, weight);
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kIntConvRef;
const RefKernel kIntConvRef = {run_int_conv, nullptr};

}  // namespace vireo
