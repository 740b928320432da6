#include "sdk/ops/conv_transpose/conv_transpose.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/accumulate.h"
#include "sdk/ops/shared/dispatch.h"

namespace vireo {
namespace {

// The input position that meets output position `o` at tap `k` of spatial dimension `d`; false if there is none.
bool source(const Geometry& g, int d, int64_t o, int64_t k, int64_t* in) {
  const int64_t at = o + g.pad[d] - k * g.dilation[d];
  *in = at / g.stride[d];
  return at >= 0 && at % g.stride[d] == 0 && *in < g.in[d];
}

template <class T>
void conv_transpose(const KernelContext& ctx) {
  using A = accumulate_t<T>;
  const auto& a = ctx.attrs<attrs::ConvTranspose>();
  const T* x = ctx.in(0)->as<const T>();
  const T* w = ctx.in(1)->as<const T>();
  const T* b = ctx.in(2) != nullptr ? ctx.in(2)->as<const T>() : nullptr;
  T* y = ctx.out(0)->as<T>();
  const Geometry g = conv_transpose_geometry(a, ctx.in(0)->shape, ctx.in(1)->shape, ctx.out(0)->shape);
  const int64_t per_group_in = g.channels_in / a.group(), per_group_out = g.channels_out / a.group();
  const int64_t taps = g.kernel[0] * g.kernel[1] * g.kernel[2];
  const int64_t planes = per_group_in == 0 ? 0 : g.kernel[0];  // filters of no bytes may have any extent
  ctx.parallel.for_range(g.batch * g.channels_out, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / g.channels_out, m = i % g.channels_out;
      const int64_t first = m / per_group_out * per_group_in;
      int64_t o[3], p[3];
      for (o[0] = 0; o[0] < g.out[0]; ++o[0]) {
        for (o[1] = 0; o[1] < g.out[1]; ++o[1]) {
          for (o[2] = 0; o[2] < g.out[2]; ++o[2]) {
            A sum = b != nullptr ? to_sum<A>(b[m]) : A{0};
            for (int64_t kd = 0; kd < planes; ++kd) {
              if (!source(g, 0, o[0], kd, &p[0])) continue;
              for (int64_t kh = 0; kh < g.kernel[1]; ++kh) {
                if (!source(g, 1, o[1], kh, &p[1])) continue;
                for (int64_t kw = 0; kw < g.kernel[2]; ++kw) {
                  if (!source(g, 2, o[2], kw, &p[2])) continue;
                  const T* xp = x + n * g.x.batch + p[0] * g.x.step[0] + p[1] * g.x.step[1] + p[2] * g.x.step[2];
                  const T* wp = w + m % per_group_out * taps + (kd * g.kernel[1] + kh) * g.kernel[2] + kw;
                  for (int64_t c = first; c < first + per_group_in; ++c) {
                    sum += to_sum<A>(xp[c * g.x.channel]) * to_sum<A>(wp[c * per_group_out * taps]);
                  }
                }
              }
            }
            y[n * g.y.batch + m * g.y.channel + o[0] * g.y.step[0] + o[1] * g.y.step[1] + o[2] * g.y.step[2]] =
                from_sum<T>(sum);
          }
        }
      }
    }
  });
}

Status run_conv_transpose(const KernelContext& ctx) {
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) {
    conv_transpose<decltype(tag)>(ctx);
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kConvTransposeRef;
const RefKernel kConvTransposeRef = {run_conv_transpose, nullptr};

}  // namespace vireo
