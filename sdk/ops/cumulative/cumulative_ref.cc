#include "sdk/ops/cumulative/cumulative_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/lanes.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

// Replaces `n` elements by the totals before (exclusive) or after them.
template <bool kProduct, class Total, class C>
void running(C* v, int n, bool exclusive, Total* total) {
  for (int k = 0; k < n; ++k) {
    const Total before = *total;
    *total = kProduct ? before * static_cast<Total>(v[k]) : before + static_cast<Total>(v[k]);
    v[k] = static_cast<C>(exclusive ? before : *total);
  }
}

// Along `n` elements from `first` on, `step` apart (negative: backwards). y may be x.
template <bool kProduct>
void line(const Tensor& x, const Tensor& y, int64_t first, int64_t n, int64_t step, bool exclusive) {
  double real = kProduct ? 1 : 0;
  uint64_t integer = kProduct ? 1 : 0;  // signed ones too: the low bits of a total are those of the operands
  Lanes lanes;
  for (int64_t i = 0; i < n; i += Lanes::kCount) {
    const int m = static_cast<int>(n - i < Lanes::kCount ? n - i : Lanes::kCount);
    load_lanes(x.dtype, x.data, first + i * step, step, m, &lanes);
    switch (lane_kind(x.dtype)) {
      case LaneKind::kFloat:
        running<kProduct>(lanes.f, m, exclusive, &real);
        break;
      case LaneKind::kDouble:
        running<kProduct>(lanes.d, m, exclusive, &real);
        break;
      default:
        running<kProduct>(lanes.u, m, exclusive, &integer);
        break;
    }
    store_lanes(x.dtype, lanes, y.data, first + i * step, step, m);
  }
}

template <bool kProduct>
Status run_cumulative(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Cumulative>();
  const Tensor &x = *ctx.in(0), &which = *ctx.in(1);
  const int64_t given = read_integer(which.dtype, which.data, 0);
  const int axis = normalize_axis(given, x.shape.rank);
  if (axis < 0) {
    return ctx.fail(Status::kInvalidArgument, "axis {} is outside [-{},{})", given, x.shape.rank, x.shape.rank);
  }
  const int64_t outer = product(x.shape, 0, axis), n = x.shape[axis], inner = product(x.shape, axis + 1, x.shape.rank);
  const int64_t first = a.reverse() ? (n - 1) * inner : 0, step = a.reverse() ? -inner : inner;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      line<kProduct>(x, *ctx.out(0), o * n * inner + i + first, n, step, a.exclusive());
    }
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kCumSumRef;
extern const RefKernel kCumProdRef;

const RefKernel kCumSumRef = {run_cumulative<false>, nullptr};
const RefKernel kCumProdRef = {run_cumulative<true>, nullptr};

}  // namespace vireo
