#include "sdk/ops/reduce/reduce.h"

#include <math.h>

#include <limits>
#include <type_traits>

#include "sdk/ops/dispatch.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/reduce/reduce_generated.h"

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

constexpr int64_t kGrain = 4096;  // elements a thread is woken for

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

// y[k] = f(pointer to the first reduced element of result k)
template <class T, class F>
Status each(const KernelContext& ctx, const Reduction& walk, const F& f) {
  const T* x = ctx.in(0)->as<const T>();
  T* y = ctx.out(0)->as<T>();
  if (walk.kept() != ctx.out(0)->count()) {
    return ctx.fail(Status::kInvalidArgument, "the axes leave {} results, but the output {} was planned", walk.kept(),
                    ctx.out(0)->shape);
  }
  ctx.parallel.for_range(walk.kept(), 1 + kGrain / (walk.reduced() + 1), [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t k = begin; k < end; ++k) y[k] = f(x + walk.begin(k));
  });
  return Status::kOk;
}

// Floats in float64, signed integers in int64, unsigned ones in uint64; integers wrap.
template <class T>
using Sum = std::conditional_t<!std::is_integral<T>::value, double,
                               std::conditional_t<std::is_signed<T>::value, int64_t, uint64_t>>;

template <class T>
Sum<T> widen(T v) {
  return static_cast<Sum<T>>(static_cast<compute_t<T>>(v));
}
template <class T>
T narrow(Sum<T> v) {
  return T(static_cast<compute_t<T>>(v));
}
template <class T>
T narrow_real(double v) {  // an integer takes the part towards zero
  if constexpr (std::is_integral<T>::value) {
    return v >= 0 ? static_cast<T>(static_cast<uint64_t>(v)) : static_cast<T>(static_cast<int64_t>(v));
  } else {
    return T(static_cast<compute_t<T>>(v));
  }
}

struct Value {
  static double of(double v) { return v; }
  template <class I>
  static uint64_t of(I v) {
    return static_cast<uint64_t>(v);
  }
};
struct Size {
  static double of(double v) { return fabs(v); }
  static uint64_t of(int64_t v) { return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v); }
  static uint64_t of(uint64_t v) { return v; }
};
struct Square {
  static double of(double v) { return v * v; }
  template <class I>
  static uint64_t of(I v) {
    return static_cast<uint64_t>(v) * static_cast<uint64_t>(v);
  }
};

// The sum of Of(x) behind one result.
template <class Of, class T>
Sum<T> sum(const Reduction& walk, const T* x) {
  std::conditional_t<std::is_integral<T>::value, uint64_t, double> total = 0;
  for (int64_t r = 0; r < walk.rows(); ++r) {
    const T* row = x + walk.row_offset(r);
    for (int64_t i = 0; i < walk.row(); ++i) total += Of::of(widen(row[i * walk.step()]));
  }
  return static_cast<Sum<T>>(total);
}

template <class F>
Status dispatch_wide(DType t, const F& f) {
  switch (t) {
    case DType::kI32:
      return f(int32_t{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kU32:
      return f(uint32_t{});
    case DType::kU64:
      return f(uint64_t{});
    default:
      return dispatch_float(t, f);
  }
}

Reduction walk_of(const KernelContext& ctx) {
  return Reduction(ctx.in(0)->shape, axes_of(ctx, ctx.attrs<attrs::Reduce>().noop_with_empty_axes()));
}

Status run_sum(const KernelContext& ctx) {
  const Reduction walk = walk_of(ctx);
  return dispatch_wide(ctx.in(0)->dtype, [&](auto tag) {
    using T = decltype(tag);
    return each<T>(ctx, walk, [&](const T* x) { return narrow<T>(sum<Value>(walk, x)); });
  });
}

Status run_mean(const KernelContext& ctx) {
  const Reduction walk = walk_of(ctx);
  return dispatch_wide(ctx.in(0)->dtype, [&](auto tag) {
    using T = decltype(tag);
    const Sum<T> n = static_cast<Sum<T>>(walk.reduced());
    return each<T>(ctx, walk, [&](const T* x) {
      if (std::is_integral<T>::value && n == 0) return T(0);
      return narrow<T>(sum<Value>(walk, x) / n);
    });
  });
}

Status run_prod(const KernelContext& ctx) {
  const Reduction walk = walk_of(ctx);
  return dispatch_wide(ctx.in(0)->dtype, [&](auto tag) {
    using T = decltype(tag);
    return each<T>(ctx, walk, [&](const T* x) {
      std::conditional_t<std::is_integral<T>::value, uint64_t, double> total = 1;
      for (int64_t r = 0; r < walk.rows(); ++r) {
        const T* row = x + walk.row_offset(r);
        for (int64_t i = 0; i < walk.row(); ++i) total *= Value::of(widen(row[i * walk.step()]));
      }
      return narrow<T>(static_cast<Sum<T>>(total));
    });
  });
}

// log(sum exp(x)) = m + log(sum exp(x - m)), m = max x. An infinite m is the answer itself.
template <class T>
double log_sum_exp(const Reduction& walk, const T* x) {
  double m = static_cast<double>(-INFINITY), total = 0;
  for (int64_t r = 0; r < walk.rows(); ++r) {
    for (int64_t i = 0; i < walk.row(); ++i) {
      const double v = widen(x[walk.row_offset(r) + i * walk.step()]);
      if (v > m || v != v) m = v;
    }
  }
  if (m != m || m - m != 0) return m;
  for (int64_t r = 0; r < walk.rows(); ++r) {
    for (int64_t i = 0; i < walk.row(); ++i) total += exp(widen(x[walk.row_offset(r) + i * walk.step()]) - m);
  }
  return m + log(total);
}

Status run_norm(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::ReduceNorm>();
  const Reduction walk(ctx.in(0)->shape, axes_of(ctx, a.noop_with_empty_axes()));
  const DType t = ctx.in(0)->dtype;
  switch (a.norm()) {
    case attrs::Norm::LogSumExp:
      return dispatch_float(t, [&](auto tag) {
        using T = decltype(tag);
        return each<T>(ctx, walk, [&](const T* x) { return narrow<T>(log_sum_exp(walk, x)); });
      });
    case attrs::Norm::LogSum:
      return dispatch_float(t, [&](auto tag) {
        using T = decltype(tag);
        return each<T>(ctx, walk, [&](const T* x) { return narrow<T>(log(sum<Value>(walk, x))); });
      });
    case attrs::Norm::L1:
      return dispatch_wide(t, [&](auto tag) {
        using T = decltype(tag);
        return each<T>(ctx, walk, [&](const T* x) { return narrow<T>(sum<Size>(walk, x)); });
      });
    default:
      break;
  }
  const bool root = a.norm() == attrs::Norm::L2;
  return dispatch_wide(t, [&](auto tag) {
    using T = decltype(tag);
    return each<T>(ctx, walk, [&](const T* x) {
      const Sum<T> s = sum<Square>(walk, x);
      return root ? narrow_real<T>(sqrt(static_cast<double>(s))) : narrow<T>(s);
    });
  });
}

// The extreme element; NaN wins. kMax: the greatest, from the lowest number on.
template <bool kMax>
Status run_extreme(const KernelContext& ctx) {
  const Reduction walk = walk_of(ctx);
  const DType t = ctx.in(0)->dtype;
  return dispatch_number(t == DType::kBool ? DType::kU8 : t, [&](auto tag) {
    using T = decltype(tag);
    using C = compute_t<T>;
    C worst = kMax ? std::numeric_limits<C>::lowest() : std::numeric_limits<C>::max();
    if constexpr (!std::is_integral<C>::value) worst = static_cast<C>(kMax ? -INFINITY : INFINITY);
    if (t == DType::kBool) worst = kMax ? C(0) : C(1);
    return each<T>(ctx, walk, [&](const T* x) {
      C best = worst;
      for (int64_t r = 0; r < walk.rows(); ++r) {
        const T* row = x + walk.row_offset(r);
        for (int64_t i = 0; i < walk.row(); ++i) {
          const C v = static_cast<C>(row[i * walk.step()]);
          if ((kMax ? v > best : v < best) || v != v) best = v;
        }
      }
      return T(best);
    });
  });
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
const RefKernel kReduceMaxRef = {run_extreme<true>, nullptr};
const RefKernel kReduceMinRef = {run_extreme<false>, nullptr};
const RefKernel kReduceProdRef = {run_prod, nullptr};
const RefKernel kReduceNormRef = {run_norm, nullptr};

}  // namespace vireo
