#include <math.h>

#include "sdk/ops/batch_normalization/batch_normalization_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/accumulate.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/shared/value_writer.h"

namespace vireo {
namespace {

// x as [batch, channels, area] with element strides.
struct View {
  int64_t batch, channels, area, batch_step, channel_step, area_step;
};

View view(const KernelContext& ctx) {
  const Shape& s = ctx.in(0)->shape;
  if (s.rank == 1) return {s[0], 1, 1, 1, 1, 1};
  if (ctx.attrs<attrs::BatchNormalization>().layout() != 0) {
    const int64_t c = s[s.rank - 1], area = product(s, 1, s.rank - 1);
    return {s[0], c, area, area * c, 1, c};
  }
  const int64_t area = product(s, 2, s.rank);
  if (ctx.in(1)->shape.rank > 1)
    return {s[0], s[1] * area, 1, s[1] * area, 1, 1};  // each activation is its own channel
  return {s[0], s[1], area, s[1] * area, area, 1};
}

template <class T>
void normalize(const KernelContext& ctx) {
  using A = accumulate_t<T>;
  const auto& a = ctx.attrs<attrs::BatchNormalization>();
  const View v = view(ctx);
  const T* x = ctx.in(0)->as<const T>();
  T* y = ctx.out(0)->as<T>();
  ctx.parallel.for_range(v.channels, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t c = begin; c < end; ++c) {
      const auto parameter = [&](size_t i) { return static_cast<A>(read_real(ctx.in(i)->dtype, ctx.in(i)->data, c)); };
      const auto at = [&](int64_t n, int64_t k) { return n * v.batch_step + c * v.channel_step + k * v.area_step; };
      A mean = parameter(3), var = parameter(4);
      if (a.training_mode()) {
        const A count = static_cast<A>(v.batch * v.area);
        A sum = 0;
        for (int64_t n = 0; n < v.batch; ++n) {
          for (int64_t k = 0; k < v.area; ++k) sum += to_sum<A>(x[at(n, k)]);
        }
        const A data_mean = sum / count;
        A squares = 0;
        for (int64_t n = 0; n < v.batch; ++n) {
          for (int64_t k = 0; k < v.area; ++k) {
            const A d = to_sum<A>(x[at(n, k)]) - data_mean;
            squares += d * d;
          }
        }
        const A data_var = squares / count, keep = static_cast<A>(a.momentum());
        if (ctx.out(1) != nullptr)
          write_real(*ctx.out(1), c, static_cast<double>(mean * keep + data_mean * (1 - keep)));
        if (ctx.out(2) != nullptr) write_real(*ctx.out(2), c, static_cast<double>(var * keep + data_var * (1 - keep)));
        mean = data_mean;
        var = data_var;
      }
      const A factor = parameter(1) / static_cast<A>(sqrt(var + static_cast<A>(a.epsilon()))), bias = parameter(2);
      for (int64_t n = 0; n < v.batch; ++n) {
        for (int64_t k = 0; k < v.area; ++k) {
          y[at(n, k)] = from_sum<T>((to_sum<A>(x[at(n, k)]) - mean) * factor + bias);
        }
      }
    }
  });
}

Status run_batch_normalization(const KernelContext& ctx) {
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) {
    normalize<decltype(tag)>(ctx);
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kBatchNormalizationRef;
const RefKernel kBatchNormalizationRef = {run_batch_normalization, nullptr};

}  // namespace vireo
