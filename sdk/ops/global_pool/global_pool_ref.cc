#include <math.h>

#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/accumulate.h"
#include "sdk/ops/shared/dispatch.h"

namespace vireo {
namespace {

// y[n,c] = finish(fold of step over the channel's values, how many); an empty channel folds to `first`.
template <class T, class A, class Step, class Finish>
void fold_channels(const KernelContext& ctx, A first, const Step& step, const Finish& finish) {
  const Shape& s = ctx.in(0)->shape;
  const bool nhwc = ctx.attrs<attrs::GlobalPool>().layout() != 0;
  const int64_t channels = nhwc ? s[s.rank - 1] : s[1];
  const int64_t area = nhwc ? product(s, 1, s.rank - 1) : product(s, 2, s.rank);
  const T* x = ctx.in(0)->as<const T>();
  T* y = ctx.out(0)->as<T>();
  ctx.parallel.for_range(s[0] * channels, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      const T* p = nhwc ? x + i / channels * area * channels + i % channels : x + i * area;
      A value = first;
      for (int64_t k = 0; k < area; ++k) value = step(value, to_sum<A>(p[nhwc ? k * channels : k]));
      y[i] = from_sum<T>(finish(value, static_cast<A>(area)));
    }
  });
}

Status run_max(const KernelContext& ctx) {
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) {
    using T = decltype(tag);
    using A = accumulate_t<T>;
    fold_channels<T>(  // NaN wins
        ctx, static_cast<A>(-INFINITY), [](A a, A v) { return v <= a || a != a ? a : v; }, [](A a, A) { return a; });
    return Status::kOk;
  });
}

Status run_average(const KernelContext& ctx) {
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) {
    using T = decltype(tag);
    using A = accumulate_t<T>;
    fold_channels<T>(
        ctx, A{0}, [](A a, A v) { return a + v; }, [](A a, A n) { return a / n; });
    return Status::kOk;
  });
}

Status run_lp(const KernelContext& ctx) {
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) {
    using T = decltype(tag);
    using A = accumulate_t<T>;
    const A p = static_cast<A>(ctx.attrs<attrs::GlobalPool>().p());
    fold_channels<T>(
        ctx, A{0}, [p](A a, A v) { return a + static_cast<A>(pow(v < 0 ? -v : v, p)); },
        [p](A a, A) { return static_cast<A>(pow(a, 1 / p)); });
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kGlobalMaxPoolRef;
const RefKernel kGlobalMaxPoolRef = {run_max, nullptr};
extern const RefKernel kGlobalAveragePoolRef;
const RefKernel kGlobalAveragePoolRef = {run_average, nullptr};
extern const RefKernel kGlobalLpPoolRef;
const RefKernel kGlobalLpPoolRef = {run_lp, nullptr};

}  // namespace vireo
