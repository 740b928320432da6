#include <math.h>

#include "sdk/ops/group_normalization/group_normalization_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/accumulate.h"
#include "sdk/ops/shared/dispatch.h"

namespace vireo {
namespace {

template <class T>
void normalize(const KernelContext& ctx) {
  using A = accumulate_t<T>;
  const auto& a = ctx.attrs<attrs::GroupNormalization>();
  const Shape& s = ctx.in(0)->shape;
  const T* x = ctx.in(0)->as<const T>();
  T* y = ctx.out(0)->as<T>();
  const bool nhwc = a.layout() != 0;
  const int64_t channels = nhwc ? s[s.rank - 1] : s[1];
  const int64_t area = nhwc ? product(s, 1, s.rank - 1) : product(s, 2, s.rank);
  const int64_t channel_step = nhwc ? 1 : area, area_step = nhwc ? channels : 1;
  const int64_t groups = a.num_groups() == 0 ? channels : a.num_groups();
  const int64_t width = groups == 0 ? 0 : channels / groups;  // channels of a group
  const auto parameter = [&](size_t i, int64_t c) {
    return to_sum<A>(ctx.in(i)->as<const T>()[ctx.in(i)->shape[0] == channels ? c : c / width]);
  };
  ctx.parallel.for_range(s[0] * groups, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % groups * width, base = i / groups * channels * area;
      const auto at = [&](int64_t c, int64_t k) { return base + c * channel_step + k * area_step; };
      const A count = static_cast<A>(width * area);
      A mean = 0, squares = 0;
      for (int64_t c = first; c < first + width; ++c) {
        for (int64_t k = 0; k < area; ++k) mean += to_sum<A>(x[at(c, k)]);
      }
      mean /= count;
      for (int64_t c = first; c < first + width; ++c) {
        for (int64_t k = 0; k < area; ++k) {
          const A d = to_sum<A>(x[at(c, k)]) - mean;
          squares += d * d;
        }
      }
      const A inverse = 1 / static_cast<A>(sqrt(squares / count + static_cast<A>(a.epsilon())));
      for (int64_t c = first; c < first + width; ++c) {
        const A scale = parameter(1, c), bias = parameter(2, c);
        for (int64_t k = 0; k < area; ++k) {
          y[at(c, k)] = from_sum<T>((to_sum<A>(x[at(c, k)]) - mean) * inverse * scale + bias);
        }
      }
    }
  });
}

Status run_group_normalization(const KernelContext& ctx) {
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) {
    normalize<decltype(tag)>(ctx);
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kGroupNormalizationRef;
const RefKernel kGroupNormalizationRef = {run_group_normalization, nullptr};

}  // namespace vireo
