#include "sdk/ops/reduce/reduce.h"

#include <math.h>

#include <type_traits>

#include "sdk/ops/kernel.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/shared/accumulate.h"
#include "sdk/ops/shared/lanes.h"
#include "sdk/ops/shared/to_integer.h"

namespace vireo {

Reduction::Reduction(const Shape& x, uint32_t axes) {
  int64_t stride[kMaxRank] = {};
  int64_t dense = 1;
  for (int i = x.rank - 1; i >= 0; --i) {
    stride[i] = dense;
    dense *= x[i];
  }
  int last = -1;  // the axis before this one, extents of 1 left out
  for (int i = 0; i < x.rank; ++i) {
    Part& p = (axes >> i & 1) != 0 ? reduced_ : kept_;
    p.count *= x[i];
    if (x[i] == 1) continue;
    if (last >= 0 && (axes >> last & 1) == (axes >> i & 1)) {
      p.dims[p.rank - 1] *= x[i];
      p.stride[p.rank - 1] = stride[i];
    } else {
      p.dims[p.rank] = x[i];
      p.stride[p.rank++] = stride[i];
    }
    last = i;
  }
  for (Part* p : {&kept_, &reduced_}) {
    if (p->rank == 0) p->dims[p->rank++] = 1;
  }
}

namespace {

uint32_t axes_of(const KernelContext& ctx, bool noop_with_empty_axes) {
  const Tensor* axes = ctx.in(1);
  const int rank = ctx.in(0)->shape.rank;
  const int64_t count = axes == nullptr ? 0 : axes->count();
  if (count == 0) return noop_with_empty_axes ? 0 : (1u << rank) - 1;
  uint32_t mask = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int a = normalize_axis(axes->as<const int64_t>()[i], rank);
    if (a >= 0) mask |= 1u << a;  // an axis outside leaves more results than the output holds: refused below
  }
  return mask;
}

// What a result is made of: floats in `real`, integers in `integer` (unsigned ones as the same bits).
struct Total {
  double real;
  int64_t integer;
};

// Integers wrap.
template <class T>
T add(T a, T b) {
  if constexpr (std::is_integral<T>::value) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}
template <class T>
T multiply(T a, T b) {
  if constexpr (std::is_integral<T>::value) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

// step: takes one more element v in; join: puts two totals together. `shift` is used by ExpSum alone.
struct Sum {
  template <class T>
  static T step(T total, T v, T) {
    return add(total, v);
  }
  template <class T>
  static T join(T a, T b) {
    return add(a, b);
  }
};
struct SizeSum : Sum {
  template <class T>
  static T step(T total, T v, T) {
    return add(total, v < 0 ? add(T(0), multiply(v, T(-1))) : v);
  }
};
struct SquareSum : Sum {
  template <class T>
  static T step(T total, T v, T) {
    return add(total, multiply(v, v));
  }
};
struct ExpSum : Sum {
  template <class T>
  static T step(T total, T v, T shift) {
    return add(total, static_cast<T>(exp(v - shift)));
  }
};
struct Product {
  template <class T>
  static T step(T total, T v, T) {
    return multiply(total, v);
  }
  template <class T>
  static T join(T a, T b) {
    return multiply(a, b);
  }
};
struct Greatest {  // NaN wins
  template <class T>
  static T step(T total, T v, T) {
    return v > total || v != v ? v : total;
  }
  template <class T>
  static T join(T a, T b) {
    return step(a, b, T(0));
  }
};
struct Least {
  template <class T>
  static T step(T total, T v, T) {
    return v < total || v != v ? v : total;
  }
  template <class T>
  static T join(T a, T b) {
    return step(a, b, T(0));
  }
};

template <class F, class T, class Lane>
T fold(T total, const Lane* v, int n, T shift) {
  for (int k = 0; k < n; ++k) total = F::step(total, static_cast<T>(v[k]), shift);
  return total;
}

// Takes `n` lanes into the total; `start` is the total of nothing.
using Step = void (*)(LaneKind kind, const Lanes& v, int n, const Total& start, double shift, Total* total);
template <class F>
void step_number(LaneKind kind, const Lanes& v, int n, const Total& start, double shift, Total* total) {
  switch (kind) {
    case LaneKind::kFloat:  // float32 elements in the widest type that the core has, then float64
      total->real = F::join(total->real, static_cast<double>(fold<F>(static_cast<wide_float>(start.real), v.f, n,
                                                                     static_cast<wide_float>(shift))));
      return;
    case LaneKind::kDouble:
      total->real = fold<F>(total->real, v.d, n, shift);
      return;
    case LaneKind::kSigned:
      total->integer = fold<F>(total->integer, v.i, n, int64_t{0});
      return;
    case LaneKind::kUnsigned:
      total->integer = static_cast<int64_t>(fold<F>(static_cast<uint64_t>(total->integer), v.u, n, uint64_t{0}));
      return;
  }
}
// ExpSum has floats alone.
void step_exp(LaneKind kind, const Lanes& v, int n, const Total&, double shift, Total* total) {
  if (kind == LaneKind::kDouble) {
    total->real = fold<ExpSum>(total->real, v.d, n, shift);
  } else {
    total->real += static_cast<double>(fold<ExpSum>(wide_float(0), v.f, n, static_cast<wide_float>(shift)));
  }
}

Total reduce_one(const Tensor& x, const Reduction& walk, int64_t k, Step step, const Total& start, double shift) {
  const LaneKind kind = lane_kind(x.dtype);
  Total total = start;
  Lanes lanes;
  for (int64_t r = 0; r < walk.rows(); ++r) {
    const int64_t first = walk.begin(k) + walk.row_offset(r);
    for (int64_t i = 0; i < walk.row(); i += Lanes::kCount) {
      const int n = static_cast<int>(walk.row() - i < Lanes::kCount ? walk.row() - i : Lanes::kCount);
      load_lanes(x.dtype, x.data, first + i * walk.step(), walk.step(), n, &lanes);
      step(kind, lanes, n, start, shift, &total);
    }
  }
  return total;
}

void store_one(const Tensor& y, int64_t k, const Total& total) {
  Lanes lanes;
  switch (lane_kind(y.dtype)) {
    case LaneKind::kFloat:
      lanes.f[0] = static_cast<float>(total.real);
      break;
    case LaneKind::kDouble:
      lanes.d[0] = total.real;
      break;
    default:
      lanes.i[0] = total.integer;
      break;
  }
  store_lanes(y.dtype, lanes, y.data, k, 1, 1);
}

// What becomes of a total of `n` elements.
enum class Finish : uint8_t { kNone, kMean, kRoot, kLog };
void finish(Finish f, DType t, int64_t n, Total* total) {
  switch (f) {
    case Finish::kNone:
      return;
    case Finish::kMean:
      if (dtype_is_float(t)) {
        total->real /= static_cast<double>(n);
      } else if (n != 0) {
        total->integer = dtype_is_signed(t)
                             ? total->integer / n
                             : static_cast<int64_t>(static_cast<uint64_t>(total->integer) / static_cast<uint64_t>(n));
      }
      return;
    case Finish::kRoot:  // an integer takes the part towards zero
      total->real = sqrt(dtype_is_float(t)    ? total->real
                         : dtype_is_signed(t) ? static_cast<double>(total->integer)
                                              : static_cast<double>(static_cast<uint64_t>(total->integer)));
      if (!dtype_is_float(t)) total->integer = to_integer<int64_t>(total->real);
      return;
    case Finish::kLog:
      total->real = log(total->real);
      return;
  }
}

// log(sum exp(x)) = m + log(sum exp(x - m)), m = max x. An infinite m, or a NaN, is the answer itself.
Total log_sum_exp(const Tensor& x, const Reduction& walk, int64_t k) {
  const Total lowest = {static_cast<double>(-INFINITY), 0};
  Total total = reduce_one(x, walk, k, step_number<Greatest>, lowest, 0);
  const double m = total.real;
  if (m - m != 0) return total;
  total = reduce_one(x, walk, k, step_exp, {0, 0}, m);
  total.real = m + log(total.real);
  return total;
}

// `step` null: log_sum_exp.
Status run_all(const KernelContext& ctx, bool noop_with_empty_axes, Step step, const Total& start, Finish f) {
  const Tensor &x = *ctx.in(0), &y = *ctx.out(0);
  const Reduction walk(x.shape, axes_of(ctx, noop_with_empty_axes));
  if (walk.kept() != y.count()) {
    return ctx.fail(Status::kInvalidArgument, "the axes leave {} results, but the output {} was planned", walk.kept(),
                    y.shape);
  }
  ctx.parallel.for_range(
      walk.kept(), 1 + kElementGrain / (walk.reduced() + 1), [&](int64_t begin, int64_t end, int32_t) {
        for (int64_t k = begin; k < end; ++k) {
          Total total = step == nullptr ? log_sum_exp(x, walk, k) : reduce_one(x, walk, k, step, start, 0);
          finish(f, x.dtype, walk.reduced(), &total);
          store_one(y, k, total);
        }
      });
  return Status::kOk;
}

bool noop_of(const KernelContext& ctx) { return ctx.attrs<attrs::Reduce>().noop_with_empty_axes(); }

Status run_sum(const KernelContext& ctx) { return run_all(ctx, noop_of(ctx), step_number<Sum>, {0, 0}, Finish::kNone); }
Status run_mean(const KernelContext& ctx) {
  return run_all(ctx, noop_of(ctx), step_number<Sum>, {0, 0}, Finish::kMean);
}
Status run_prod(const KernelContext& ctx) {
  return run_all(ctx, noop_of(ctx), step_number<Product>, {1, 1}, Finish::kNone);
}

// The lowest and the highest integer of a type.
int64_t lowest(DType t) { return dtype_is_signed(t) ? -(int64_t{1} << (dtype_bits(t) - 2)) * 2 : 0; }
int64_t highest(DType t) {
  if (t == DType::kBool) return 1;
  return dtype_is_signed(t) ? ~lowest(t) : static_cast<int64_t>(~uint64_t{0} >> (64 - dtype_bits(t)));
}

Status run_max(const KernelContext& ctx) {
  const Total start = {static_cast<double>(-INFINITY), lowest(ctx.in(0)->dtype)};
  return run_all(ctx, noop_of(ctx), step_number<Greatest>, start, Finish::kNone);
}
Status run_min(const KernelContext& ctx) {
  const Total start = {static_cast<double>(INFINITY), highest(ctx.in(0)->dtype)};
  return run_all(ctx, noop_of(ctx), step_number<Least>, start, Finish::kNone);
}

Status run_norm(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::ReduceNorm>();
  const bool noop = a.noop_with_empty_axes();
  switch (a.norm()) {
    case attrs::Norm::L1:
      return run_all(ctx, noop, step_number<SizeSum>, {0, 0}, Finish::kNone);
    case attrs::Norm::L2:
      return run_all(ctx, noop, step_number<SquareSum>, {0, 0}, Finish::kRoot);
    case attrs::Norm::SumSquare:
      return run_all(ctx, noop, step_number<SquareSum>, {0, 0}, Finish::kNone);
    case attrs::Norm::LogSum:
      return run_all(ctx, noop, step_number<Sum>, {0, 0}, Finish::kLog);
    case attrs::Norm::LogSumExp:
      return run_all(ctx, noop, nullptr, {0, 0}, Finish::kNone);
  }
  return Status::kUnsupported;
}

}  // namespace

extern const RefKernel kReduceSumRef;
extern const RefKernel kReduceMeanRef;
extern const RefKernel kReduceMaxRef;
extern const RefKernel kReduceMinRef;
extern const RefKernel kReduceProdRef;
extern const RefKernel kReduceNormRef;

const RefKernel kReduceSumRef = {run_sum, nullptr};
const RefKernel kReduceMeanRef = {run_mean, nullptr};
const RefKernel kReduceMaxRef = {run_max, nullptr};
const RefKernel kReduceMinRef = {run_min, nullptr};
const RefKernel kReduceProdRef = {run_prod, nullptr};
const RefKernel kReduceNormRef = {run_norm, nullptr};

}  // namespace vireo
