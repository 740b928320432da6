#include "sdk/ops/conv/conv.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

Status run_int_conv(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntConv>();
  const Tensor &x_in = *ctx.in(0), &w_in = *ctx.in(1), &m = *ctx.in(2);
  const Geometry g = conv_geometry(a, x_in.shape, w_in.shape, ctx.out(0)->shape);
  const ByteOperand x(x_in, nullptr), w(w_in, ctx.in(4));
  const int32_t zx = x.value(static_cast<uint8_t>(a.x_zero()));
  const int64_t per_group_out = g.channels_out / a.group(), per_group_in = w_in.shape[1];
  const int64_t filter = product(w_in.shape, 1, w_in.shape.rank);
  const float* multipliers = m.as<const float>();
  const bool many = m.count() != 1;
  const int32_t* bias = ctx.in(3) != nullptr ? ctx.in(3)->as<const int32_t>() : nullptr;
  const Codes codes(a);
  uint8_t* y = ctx.out(0)->as<uint8_t>();
  for_each_output(ctx.parallel, g, [&](int64_t n, int64_t c, const int64_t* o, int64_t at) {
    const int32_t zw = w.zero(c);
    const uint8_t* image = x.data + n * g.x.batch + c / per_group_out * per_group_in * g.x.channel;
    uint32_t acc = window_sum<uint32_t>(g, image, w.data + c * filter, per_group_in, o, [&](uint8_t xv, uint8_t wv) {
      return static_cast<uint32_t>((x.value(xv) - zx) * (w.value(wv) - zw));
    });
    if (bias != nullptr) acc += static_cast<uint32_t>(bias[c]);
    y[at] = codes.of_sum(static_cast<int32_t>(acc), multipliers[many ? c : 0]);
  });
  return Status::kOk;
}

}  // namespace

extern const RefKernel kIntConvRef;
const RefKernel kIntConvRef = {run_int_conv, nullptr};

}  // namespace vireo
