#include "sdk/ops/arg/arg_generated.h"
#include "sdk/ops/dispatch.h"
#include "sdk/ops/kernel.h"

namespace vireo {
namespace {

// `n` elements, `step` apart.
template <bool kMax, class T>
int64_t extreme(const T* x, int64_t n, int64_t step, bool last) {
  using C = compute_t<T>;
  int64_t at = 0;
  C best = static_cast<C>(x[0]);
  for (int64_t k = 1; k < n; ++k) {
    const C v = static_cast<C>(x[k * step]);
    const bool better = (kMax ? v > best : v < best) || (v != v && best == best);
    const bool equal = v == best || (v != v && best != best);
    if (better || (last && equal)) {
      best = v;
      at = k;
    }
  }
  return at;
}

template <bool kMax>
Status run(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Arg>();
  const Tensor& x = *ctx.in(0);
  const int axis = normalize_axis(a.axis(), x.shape.rank);
  const int64_t outer = product(x.shape, 0, axis), n = x.shape[axis], inner = product(x.shape, axis + 1, x.shape.rank);
  int64_t* y = ctx.out(0)->as<int64_t>();
  if (n == 0) return ctx.fail(Status::kInvalidArgument, "axis {} of {} is empty: it has no extreme", axis, x.shape);
  return dispatch_number(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        y[o * inner + i] = extreme<kMax>(x.as<const T>() + o * n * inner + i, n, inner, a.select_last_index());
      }
    }
    return Status::kOk;
  });
}

}  // namespace

extern const RefKernel kArgMaxRef;
extern const RefKernel kArgMinRef;

const RefKernel kArgMaxRef = {run<true>, nullptr};
const RefKernel kArgMinRef = {run<false>, nullptr};

}  // namespace vireo
