#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/integer.h"
#include "sdk/ops/shared/taps.h"

namespace vireo {
namespace {

// value(code): the code less its zero point.
template <class X, class Value>
void run(const KernelContext& ctx, const X* x, const Value& value) {
  const auto& a = ctx.attrs<attrs::IntAveragePool>();
  const Tensor &x_in = *ctx.in(0), &m = *ctx.in(1);
  Window w = read_window(x_in.shape.rank, a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads());
  for (int i = 0; i < w.spatial; ++i) w.kernel[i] = a.kernel_shape()->Get(static_cast<unsigned>(i));
  const Geometry g = make_geometry(w, x_in.shape, ctx.out(0)->shape);
  const float* multipliers = m.as<const float>();
  const bool many = m.count() != 1, with_padding = a.count_include_pad();
  const Codes codes(a);
  uint8_t* y = ctx.out(0)->as<uint8_t>();
  ctx.parallel.for_range(g.batch * g.channels_in, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t n = plane / g.channels_in, c = plane % g.channels_in;
      const X* from = x + n * g.x.batch + c * g.x.channel;
      const int64_t to = n * g.y.batch + c * g.y.channel;
      for (int64_t od = 0; od < g.out[0]; ++od) {
        const Taps d = taps_of(g, 0, od);
        for (int64_t oh = 0; oh < g.out[1]; ++oh) {
          const Taps h = taps_of(g, 1, oh);
          for (int64_t ow = 0; ow < g.out[2]; ++ow) {
            const Taps v = taps_of(g, 2, ow);
            int32_t acc = 0;
            for (int64_t kd = d.begin; kd < d.end; ++kd) {
              for (int64_t kh = h.begin; kh < h.end; ++kh) {
                const X* line =
                    from + (d.first + kd * g.dilation[0]) * g.x.step[0] + (h.first + kh * g.dilation[1]) * g.x.step[1];
                for (int64_t kw = v.begin; kw < v.end; ++kw) {
                  acc += value(line[(v.first + kw * g.dilation[2]) * g.x.step[2]]);
                }
              }
            }
            const int64_t count = with_padding ? d.padded * h.padded * v.padded
                                               : (d.end - d.begin) * (h.end - h.begin) * (v.end - v.begin);
            codes.put_sum(y, to + od * g.y.step[0] + oh * g.y.step[1] + ow * g.y.step[2], acc,
                          multipliers[many ? count : 0]);
          }
        }
      }
    }
  });
}

Status run_int_pool(const KernelContext& ctx) {
  const int32_t x_zero = ctx.attrs<attrs::IntAveragePool>().x_zero();
  if (is_half_word(ctx.in(0)->dtype)) {
    const HalfWordOperand x(*ctx.in(0));
    const int32_t zx = x.value(static_cast<uint16_t>(x_zero));
    run(ctx, x.data, [&](uint16_t v) { return x.value(v) - zx; });
  } else {
    const ByteOperand x(*ctx.in(0), nullptr);
    const int32_t zx = x.value(static_cast<uint8_t>(x_zero));
    run(ctx, x.data, [&](uint8_t v) { return x.value(v) - zx; });
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kIntAveragePoolRef;
const RefKernel kIntAveragePoolRef = {run_int_pool, nullptr};

}  // namespace vireo
