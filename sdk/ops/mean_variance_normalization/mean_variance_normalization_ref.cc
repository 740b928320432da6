#include <math.h>

#include "sdk/ops/kernel.h"
#include "sdk/ops/mean_variance_normalization/mean_variance_normalization_generated.h"
#include "sdk/ops/shared/accumulate.h"
#include "sdk/ops/shared/dispatch.h"

namespace vireo {
namespace {

// Some of a shape's dimensions, walked in row-major order.
struct Walk {
  int rank = 0;
  int64_t extent[kMaxRank], step[kMaxRank];

  int64_t count() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= extent[i];
    return n;
  }
  int64_t offset(int64_t index) const {
    int64_t at = 0;
    for (int i = rank - 1; i >= 0; --i) {
      at += index % extent[i] * step[i];
      index /= extent[i];
    }
    return at;
  }
};

template <class T>
void normalize(const KernelContext& ctx, const Walk& kept, const Walk& reduced) {
  using A = accumulate_t<T>;
  const T* x = ctx.in(0)->as<const T>();
  T* y = ctx.out(0)->as<T>();
  const int64_t count = reduced.count();
  ctx.parallel.for_range(kept.count(), 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t base = kept.offset(i);
      A mean = 0, squares = 0;
      for (int64_t k = 0; k < count; ++k) mean += to_sum<A>(x[base + reduced.offset(k)]);
      mean /= static_cast<A>(count);
      for (int64_t k = 0; k < count; ++k) {
        const A d = to_sum<A>(x[base + reduced.offset(k)]) - mean;
        squares += d * d;
      }
      const A divisor = static_cast<A>(sqrt(squares / static_cast<A>(count))) + static_cast<A>(1e-9f);
      for (int64_t k = 0; k < count; ++k) {
        const int64_t at = base + reduced.offset(k);
        y[at] = from_sum<T>((to_sum<A>(x[at]) - mean) / divisor);
      }
    }
  });
}

Status run_mean_variance_normalization(const KernelContext& ctx) {
  const Shape& s = ctx.in(0)->shape;
  const auto* axes = ctx.attrs<attrs::MeanVarianceNormalization>().axes();
  bool is_reduced[kMaxRank] = {};
  for (unsigned i = 0; axes != nullptr && i < axes->size(); ++i)
    is_reduced[normalize_axis(axes->Get(i), s.rank)] = true;
  Walk kept, reduced;
  for (int d = 0; d < s.rank; ++d) {
    Walk& w = is_reduced[d] ? reduced : kept;
    w.extent[w.rank] = s[d];
    w.step[w.rank++] = product(s, d + 1, s.rank);
  }
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) {
    normalize<decltype(tag)>(ctx, kept, reduced);
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kMeanVarianceNormalizationRef;
const RefKernel kMeanVarianceNormalizationRef = {run_mean_variance_normalization, nullptr};

}  // namespace vireo
