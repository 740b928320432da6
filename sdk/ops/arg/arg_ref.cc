#include "sdk/ops/arg/arg_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/lanes.h"

namespace vireo {
namespace {

// Goes on with elements [at, at + n) of a line. The first element is its own best.
template <class C>
void scan(const C* v, int64_t at, int n, bool max, bool last, C* best, int64_t* where) {
  for (int k = 0; k < n; ++k) {
    const bool nan = v[k] != v[k], best_is_nan = *best != *best;
    const bool better = (max ? v[k] > *best : v[k] < *best) || (nan && !best_is_nan);
    const bool equal = v[k] == *best || (nan && best_is_nan);
    if (at + k == 0 || better || (last && equal)) {
      *best = v[k];
      *where = at + k;
    }
  }
}

// Along `n` elements, `step` apart.
int64_t extreme(const Tensor& x, int64_t first, int64_t n, int64_t step, bool max, bool last) {
  Lanes lanes, best = {};
  int64_t where = 0;
  for (int64_t i = 0; i < n; i += Lanes::kCount) {
    const int m = static_cast<int>(n - i < Lanes::kCount ? n - i : Lanes::kCount);
    load_lanes(x.dtype, x.data, first + i * step, step, m, &lanes);
    switch (lane_kind(x.dtype)) {
      case LaneKind::kFloat:
        scan(lanes.f, i, m, max, last, best.f, &where);
        break;
      case LaneKind::kDouble:
        scan(lanes.d, i, m, max, last, best.d, &where);
        break;
      case LaneKind::kSigned:
        scan(lanes.i, i, m, max, last, best.i, &where);
        break;
      case LaneKind::kUnsigned:
        scan(lanes.u, i, m, max, last, best.u, &where);
        break;
    }
  }
  return where;
}

template <bool kMax>
Status run_arg(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Arg>();
  const Tensor& x = *ctx.in(0);
  const int axis = normalize_axis(a.axis(), x.shape.rank);
  const int64_t outer = product(x.shape, 0, axis), n = x.shape[axis], inner = product(x.shape, axis + 1, x.shape.rank);
  int64_t* y = ctx.out(0)->as<int64_t>();
  if (n == 0) return ctx.fail(Status::kInvalidArgument, "axis {} of {} is empty: it has no extreme", axis, x.shape);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      y[o * inner + i] = extreme(x, o * n * inner + i, n, inner, kMax, a.select_last_index());
    }
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kArgMaxRef;
extern const RefKernel kArgMinRef;

const RefKernel kArgMaxRef = {run_arg<true>, nullptr};
const RefKernel kArgMinRef = {run_arg<false>, nullptr};

}  // namespace vireo
