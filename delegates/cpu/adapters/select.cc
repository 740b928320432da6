// TopK, ArgMax and ArgMin: one pass over each line, the reference's results.
#include <type_traits>

#include "delegates/cpu/cpu_op.h"
#include "sdk/ops/arg/arg_generated.h"
#include "sdk/ops/shared/sort.h"
#include "sdk/ops/top_k/top_k_generated.h"

namespace vireo {
namespace {

constexpr int64_t kGrainElements = 4096;  // some 5 us

// x as lines along an axis: [outer, length, inner].
struct Lines {
  int64_t outer, length, inner;
  Lines(const Shape& x, int axis) : outer(product(x, 0, axis)), length(x[axis]), inner(product(x, axis + 1, x.rank)) {}
  int64_t grain() const { return kGrainElements / (length + 1) + 1; }
};

// ---- TopK

template <class T>
struct Entry {
  T value;
  int64_t index;
};

// The first k of a line in order: a heap of the best so far whose root is the last of them. An element that comes later
// in the line and is not better than the root is done with after one comparison.
template <class T, bool kLargest>
void top_k(const T* x, int64_t step, int64_t length, int64_t k, Entry<T>* best, T* values, int64_t* indices) {
  const auto better = [](T a, T b) { return kLargest ? total_less(b, a) : total_less(a, b); };
  const auto before = [&](const Entry<T>& a, const Entry<T>& b) {
    return better(a.value, b.value) || (!better(b.value, a.value) && a.index < b.index);
  };
  for (int64_t i = 0; i < k; ++i) best[i] = {x[i * step], i};
  if (k < length) {
    heap_sort(best, k, [&](const Entry<T>& a, const Entry<T>& b) { return before(b, a); });  // from the last on: a heap
    for (int64_t i = k; i < length; ++i) {
      const Entry<T> e = {x[i * step], i};
      if (!better(e.value, best[0].value)) continue;
      int64_t root = 0;
      for (int64_t child = 1; child < k; child = 2 * root + 1) {
        if (child + 1 < k && before(best[child], best[child + 1])) ++child;
        if (!before(e, best[child])) break;
        best[root] = best[child];
        root = child;
      }
      best[root] = e;
    }
  }
  heap_sort(best, k, before);
  for (int64_t i = 0; i < k; ++i) {
    if (values != nullptr) values[i * step] = best[i].value;
    if (indices != nullptr) indices[i * step] = best[i].index;
  }
}

template <class T>
int64_t top_k_scratch(const CpuQuery& q) {
  const Shape& x = q.inputs[0].type.shape;
  return x[normalize_axis(q.attrs<attrs::TopK>().axis(), x.rank)] * static_cast<int64_t>(sizeof(Entry<T>)) * q.slots;
}

template <class T>
Status run_top_k(const KernelContext& ctx, const void*) {
  const auto& a = ctx.attrs<attrs::TopK>();
  const Tensor& x = *ctx.in(0);
  Tensor *values = ctx.out(0), *indices = ctx.out(1);
  const int axis = normalize_axis(a.axis(), x.shape.rank);
  const Lines lines(x.shape, axis);
  const int64_t k = (values != nullptr ? values : indices)->shape[axis];
  if (k == 0) return Status::kOk;
  const auto select = a.largest() ? top_k<T, true> : top_k<T, false>;
  ctx.parallel.for_range(lines.outer * lines.inner, lines.grain(), [&](int64_t begin, int64_t end, int32_t slot) {
    auto* const best = reinterpret_cast<Entry<T>*>(ctx.scratch.data()) + slot * lines.length;
    for (int64_t line = begin; line < end; ++line) {
      const int64_t o = line / lines.inner, i = line % lines.inner, at = o * k * lines.inner + i;
      select(x.as<const T>() + o * lines.length * lines.inner + i, lines.inner, lines.length, k, best,
             values == nullptr ? nullptr : values->as<T>() + at,
             indices == nullptr ? nullptr : indices->as<int64_t>() + at);
    }
  });
  return Status::kOk;
}

// ---- ArgMax, ArgMin: a NaN is the extreme of its line

template <class T, bool kMax, bool kLast>
bool takes_over(T v, T best) {
  const bool beyond = kMax ? (kLast ? v >= best : v > best) : (kLast ? v <= best : v < best);
  return beyond | ((v != v) & (kLast | (best == best)));
}

template <class T, bool kMax, bool kLast>
int64_t extreme(const T* x, int64_t length) {
  T best = x[0];
  int64_t where = 0;
  for (int64_t i = 1; i < length; ++i) {
    if (!takes_over<T, kMax, kLast>(x[i], best)) continue;
    best = x[i];
    where = i;
  }
  return where;
}

// `count` lines side by side, without branches that values decide: neighbours, or short lines one behind the other.
template <class T, bool kMax, bool kLast, bool kNeighbours>
void extremes(const T* x, int64_t length, int64_t inner, int64_t count, int64_t* y) {
  constexpr int64_t kSide = 64;
  // As wide as values, so that both are chosen in vectors; run_arg() has no longer lines.
  using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  T best[kSide];
  Index where[kSide];
  for (int64_t j0 = 0; j0 < count; j0 += kSide) {
    const int64_t n = count - j0 < kSide ? count - j0 : kSide, apart = kNeighbours ? 1 : length;
    const T* row = x + j0 * apart;
    for (int64_t j = 0; j < n; ++j) {
      best[j] = row[j * apart];
      where[j] = 0;
    }
    for (int64_t i = 1; i < length; ++i) {
      row += inner;
      for (int64_t j = 0; j < n; ++j) {
        const T v = row[j * apart];
        const bool over = takes_over<T, kMax, kLast>(v, best[j]);
        best[j] = over ? v : best[j];
        where[j] = over ? static_cast<Index>(i) : where[j];
      }
    }
    for (int64_t j = 0; j < n; ++j) y[j0 + j] = where[j];
  }
}

template <class T, bool kMax, bool kLast>
void arg_lines(const KernelContext& ctx, const Lines& lines) {
  const T* const x = ctx.in(0)->as<const T>();
  int64_t* const y = ctx.out(0)->as<int64_t>();
  if (lines.inner == 1) {
    ctx.parallel.for_range(lines.outer, lines.grain(), [&](int64_t begin, int64_t end, int32_t) {
      constexpr int64_t kShort = 64;  // in longer ones the extreme changes seldom
      if (lines.length <= kShort)
        return extremes<T, kMax, kLast, false>(x + begin * lines.length, lines.length, 1, end - begin, y + begin);
      for (int64_t o = begin; o < end; ++o) y[o] = extreme<T, kMax, kLast>(x + o * lines.length, lines.length);
    });
    return;
  }
  const int64_t grain = kGrainElements / (lines.length * lines.inner + 1) + 1;
  ctx.parallel.for_range(lines.outer, grain, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t o = begin; o < end; ++o)
      extremes<T, kMax, kLast, true>(x + o * lines.length * lines.inner, lines.length, lines.inner, lines.inner,
                                     y + o * lines.inner);
  });
}

template <class T, bool kMax>
Status run_arg(const KernelContext& ctx, const void*) {
  const auto& a = ctx.attrs<attrs::Arg>();
  const Tensor& x = *ctx.in(0);
  const int axis = normalize_axis(a.axis(), x.shape.rank);
  const Lines lines(x.shape, axis);
  if (lines.length == 0)
    return ctx.fail(Status::kInvalidArgument, "axis {} of {} is empty: it has no extreme", axis, x.shape);
  if (lines.length > INT32_MAX) return find_ref(kMax ? Op::kArgMax : Op::kArgMin)->run(ctx);
  (a.select_last_index() ? arg_lines<T, kMax, true> : arg_lines<T, kMax, false>)(ctx, lines);
  return Status::kOk;
}

// ---- Choice

template <class T>
const CpuKernel* kernel_of(Op op) {
  static constexpr CpuKernel kTopK = {"top_k", 0, top_k_scratch<T>, nullptr, run_top_k<T>};
  static constexpr CpuKernel kArgMax = {"arg_max", 0, nullptr, nullptr, run_arg<T, true>};
  static constexpr CpuKernel kArgMin = {"arg_min", 0, nullptr, nullptr, run_arg<T, false>};
  return op == Op::kTopK ? &kTopK : op == Op::kArgMax ? &kArgMax : &kArgMin;
}

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "";
  switch (q.inputs[0].type.dtype) {
    case DType::kF32:
      return kernel_of<float>(q.op);
    case DType::kI32:
      return kernel_of<int32_t>(q.op);
    case DType::kI64:
      return kernel_of<int64_t>(q.op);
    default:
      *reason = "tuned for float32, int32 and int64";
      return nullptr;
  }
}

}  // namespace

extern const CpuOp kCpuOp_select;
const CpuOp kCpuOp_select = {"select", choose};

}  // namespace vireo
