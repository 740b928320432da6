// Operators along one axis that several kernels serve together, float32: norms of lines, and logarithms of sums.
// Running totals of float32 and integers.
#include <math.h>
#include <string.h>

#include <algorithm>
#include <type_traits>

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/activation/activation.h"
#include "delegates/cpu/kernels/eltwise/eltwise.h"
#include "delegates/cpu/kernels/reduce/reduce.h"
#include "delegates/cpu/reduction.h"
#include "sdk/ops/cumulative/cumulative_generated.h"
#include "sdk/ops/lp_normalization/lp_normalization_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

// x [outer, axis, inner], taken in blocks: some lines of outer whole, or a part of one's axis.
struct Blocks {
  static constexpr int64_t kFloats = 8 * 1024;
  int64_t outer, axis, inner;
  int64_t lines, depth;  // of a block

  Blocks(const Shape& x, int first, int last)
      : outer(product(x, 0, first)), axis(product(x, first, last)), inner(product(x, last, x.rank)) {
    lines = axis * inner > 0 ? std::max(kFloats / (axis * inner), int64_t{1}) : 1;
    depth = axis * inner <= kFloats ? axis : std::max(kFloats / inner, int64_t{1});
  }
  // Floats of a block, and no fewer than of its sums. At the bounds of extents it is not less than of any run.
  static int64_t floats(int64_t count, int64_t inner) { return std::max(std::min(kFloats, count), inner); }
};

// y = op(a, of lines of a), lines broadcast.
void by_line(cpu::Binary op, const float* a, const float* of_line, float* y, int64_t lines, int64_t axis, int64_t inner,
             const Parallel& parallel) {
  cpu::BinaryF32 s;
  s.op = op;
  s.rank = 3;
  const int64_t dims[3] = {lines, axis, inner}, strides[3] = {axis * inner, inner, 1}, others[3] = {inner, 0, 1};
  for (int i = 0; i < 3; ++i) {
    s.dims[i] = dims[i];
    s.a_strides[i] = strides[i];
    s.b_strides[i] = others[i];
  }
  cpu::binary_f32(s, a, of_line, y, parallel);
}

// ---- log(sum exp(x)) = m + log(sum exp(x - m)), m = max x; an infinite m, or a NaN, is the answer itself ----

bool read(const CpuQuery& q, cpu::Reduction* out) {
  if (q.op != Op::kReduceNorm || q.attrs<attrs::ReduceNorm>().norm() != attrs::Norm::LogSumExp) return false;
  const int64_t* axes = nullptr;
  int64_t count = 0;
  if (!cpu::constant_axes(q, &axes, &count)) return false;
  return cpu::read_axes(q.attrs<attrs::ReduceNorm>().noop_with_empty_axes(), q.inputs[0].type.shape.rank, axes, count,
                        out);
}

int64_t log_sum_exp_scratch(const CpuQuery& q) {
  cpu::Reduction r;
  const Shape& x = q.inputs[0].type.shape;
  if (!read(q, &r)) return 0;
  return 4 * Blocks::floats(product(x, 0, x.rank), product(x, r.last, x.rank)) * static_cast<int64_t>(sizeof(float));
}

void prepare_log_sum_exp(const CpuQuery& q, void* state) { (void)read(q, new (state) cpu::Reduction()); }

Status run_log_sum_exp(const KernelContext& ctx, const void* state) {
  const auto& r = *static_cast<const cpu::Reduction*>(state);
  const Blocks b(ctx.in(0)->shape, r.first, r.last);
  const auto* x = ctx.in(0)->as<const float>();
  auto* y = ctx.out(0)->as<float>();
  cpu::reduce_f32(cpu::Reduce::kMax, x, y, b.outer, b.axis, b.inner, ctx.parallel);
  const int64_t line = b.axis * b.inner, room = Blocks::floats(b.outer * line, b.inner);
  if (line == 0) return Status::kOk;
  auto* const block = reinterpret_cast<float*>(ctx.scratch.data());
  float *const shift = block + room, *const sums = shift + room, *const part = sums + room;
  for (int64_t o = 0; o < b.outer; o += b.lines, x += b.lines * line, y += b.lines * b.inner) {
    const int64_t lines = std::min(b.lines, b.outer - o), results = lines * b.inner;
    for (int64_t i = 0; i < results; ++i) {
      shift[i] = y[i] - y[i] == 0 ? y[i] : 0;
      sums[i] = 0;
    }
    for (int64_t k = 0; k < b.axis; k += b.depth) {
      const int64_t depth = std::min(b.depth, b.axis - k);
      by_line(cpu::Binary::kSub, x + k * b.inner, shift, block, lines, depth, b.inner, ctx.parallel);
      cpu::activate_f32(block, block, lines * depth * b.inner, {cpu::Activation::kExp}, ctx.parallel);
      cpu::reduce_f32(cpu::Reduce::kSum, block, part, lines, depth, b.inner, ctx.parallel);
      for (int64_t i = 0; i < results; ++i) sums[i] += part[i];
    }
    cpu::activate_f32(sums, sums, results, {cpu::Activation::kLog}, ctx.parallel);
    for (int64_t i = 0; i < results; ++i) y[i] = y[i] - y[i] == 0 ? y[i] + sums[i] : y[i];
  }
  return Status::kOk;
}

// ---- x over the norm of its line; 0 where that is 0 ----

int64_t normalize_scratch(const CpuQuery& q) {
  const Shape& x = q.inputs[0].type.shape;
  const int axis = normalize_axis(q.attrs<attrs::LpNormalization>().axis(), x.rank);
  return Blocks::floats(product(x, 0, x.rank), product(x, axis + 1, x.rank)) * static_cast<int64_t>(sizeof(float));
}

// Lines whose squares leave float32.
void normalize_far(const float* x, float* y, int64_t axis, int64_t inner, bool squares) {
  for (int64_t i = 0; i < inner; ++i) {
    double sum = 0;
    for (int64_t k = i; k < axis * inner; k += inner) sum += squares ? double{x[k]} * double{x[k]} : fabs(double{x[k]});
    const double norm = squares ? sqrt(sum) : sum;
    for (int64_t k = i; k < axis * inner; k += inner) y[k] = norm == 0 ? 0 : static_cast<float>(double{x[k]} / norm);
  }
}

Status run_normalize(const KernelContext& ctx, const void*) {
  const auto& a = ctx.attrs<attrs::LpNormalization>();
  const Shape& s = ctx.in(0)->shape;
  const int axis = normalize_axis(a.axis(), s.rank);
  const Blocks b(s, axis, axis + 1);
  const bool squares = a.p() == 2;
  const int64_t line = b.axis * b.inner;
  if (line == 0) return Status::kOk;
  const auto* x = ctx.in(0)->as<const float>();
  auto* y = ctx.out(0)->as<float>();
  auto* const norms = reinterpret_cast<float*>(ctx.scratch.data());
  for (int64_t o = 0; o < b.outer; o += b.lines, x += b.lines * line, y += b.lines * line) {
    const int64_t lines = std::min(b.lines, b.outer - o);
    cpu::reduce_f32(squares ? cpu::Reduce::kSumSquare : cpu::Reduce::kSumAbs, x, norms, lines, b.axis, b.inner,
                    ctx.parallel);
    bool far = false;
    for (int64_t i = 0; i < lines * b.inner; ++i) far = far || !(norms[i] > 1e-25f && norms[i] < 1e30f);
    if (far) {
      for (int64_t i = 0; i < lines; ++i) normalize_far(x + i * line, y + i * line, b.axis, b.inner, squares);
      continue;
    }
    if (squares) cpu::activate_f32(norms, norms, lines * b.inner, {cpu::Activation::kSqrt}, ctx.parallel);
    by_line(cpu::Binary::kDiv, x, norms, y, lines, b.axis, b.inner, ctx.parallel);
  }
  return Status::kOk;
}

// ---- running totals: of integers modulo their size; of a line of float32 in float64, of many lines side by side in
// float32, as those of reductions ----

template <bool kExclusive, class T, class Total>
void totals_of_line(const T* x, T* y, int64_t n, int64_t step) {
  Total total = 0;
  for (int64_t k = 0; k < n; ++k, x += step, y += step) {
    const Total before = total;
    total += static_cast<Total>(*x);
    *y = static_cast<T>(kExclusive ? before : total);
  }
}
// kColumns columns side by side, whose totals stay in registers.
template <bool kExclusive, int kColumns, class T>
void totals_of_columns(const T* x, T* y, int64_t n, int64_t step) {
  T total[kColumns] = {};
  for (int64_t k = 0; k < n; ++k, x += step, y += step) {
    T row[kColumns];  // beside y, which may be x
    memcpy(row, x, sizeof(row));
    for (int i = 0; i < kColumns; ++i) {
      const T before = total[i];
      total[i] += row[i];
      row[i] = kExclusive ? before : total[i];
    }
    memcpy(y, row, sizeof(row));
  }
}
template <bool kExclusive, class T, class Total>
void totals(const void* x, void* y, int64_t n, int64_t inner, bool reverse, int64_t begin, int64_t end) {
  const int64_t step = reverse ? -inner : inner, first = reverse ? (n - 1) * inner : 0;
  for (int64_t o = begin; o < end; ++o) {
    const int64_t at = o * n * inner + first;
    const T* const from = static_cast<const T*>(x) + at;
    T* const to = static_cast<T*>(y) + at;
    constexpr int kColumns = 16;
    int64_t column = 0;
    for (; column + kColumns <= inner; column += kColumns)
      totals_of_columns<kExclusive, kColumns>(from + column, to + column, n, step);
    for (; column < inner; ++column) totals_of_line<kExclusive, T, Total>(from + column, to + column, n, step);
  }
}

Status run_cumulative(const KernelContext& ctx, const void*) {
  const auto& a = ctx.attrs<attrs::Cumulative>();
  const Tensor &x = *ctx.in(0), &which = *ctx.in(1);
  const int64_t given = read_integer(which.dtype, which.data, 0);
  const int axis = normalize_axis(given, x.shape.rank);
  if (axis < 0)
    return ctx.fail(Status::kInvalidArgument, "axis {} is outside [-{},{})", given, x.shape.rank, x.shape.rank);
  const int64_t n = x.shape[axis], rest = product(x.shape, axis + 1, x.shape.rank);
  // Lines of one element are all as neighbours are.
  const int64_t outer = n == 1 ? 1 : product(x.shape, 0, axis), inner = n == 1 ? x.count() : rest;
  constexpr int64_t kGrain = 4096;  // elements
  constexpr int64_t kWide = 512;    // rows that are added faster one after the other
  if (x.dtype == DType::kF32 && !a.exclusive() && inner >= kWide) {
    cpu::BinaryF32 sum;
    sum.rank = 1;
    sum.dims[0] = inner;
    sum.a_strides[0] = sum.b_strides[0] = 1;
    const int64_t step = a.reverse() ? -inner : inner;
    for (int64_t o = 0; o < outer; ++o) {
      const int64_t first = (o * n + (a.reverse() ? n - 1 : 0)) * inner;
      const float* from = x.as<const float>() + first;
      float* to = ctx.out(0)->as<float>() + first;
      if (from != to && n > 0) memcpy(to, from, static_cast<size_t>(inner) * sizeof(float));
      for (int64_t k = 1; k < n; ++k, to += step) cpu::binary_f32(sum, to, from += step, to + step, ctx.parallel);
    }
    return Status::kOk;
  }
  const auto of = [&](auto exclusive) {
    constexpr bool kExclusive = decltype(exclusive)::value;
    return x.dtype == DType::kF32   ? totals<kExclusive, float, double>
           : x.dtype == DType::kI32 ? totals<kExclusive, uint32_t, uint32_t>
                                    : totals<kExclusive, uint64_t, uint64_t>;
  };
  const auto run = a.exclusive() ? of(std::true_type()) : of(std::false_type());
  ctx.parallel.for_range(outer, 1 + kGrain / (n * inner + 1), [&](int64_t begin, int64_t end, int32_t) {
    run(x.data, ctx.out(0)->data, n, inner, a.reverse(), begin, end);
  });
  return Status::kOk;
}

constexpr CpuKernel kLogSumExp = {"log_sum_exp_f32", sizeof(cpu::Reduction), log_sum_exp_scratch, prepare_log_sum_exp,
                                  run_log_sum_exp};
constexpr CpuKernel kNormalize = {"lp_normalize_f32", 0, normalize_scratch, nullptr, run_normalize};
constexpr CpuKernel kTotals = {"running_totals", 0, nullptr, nullptr, run_cumulative};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const DType t = q.inputs[0].type.dtype;
  if (q.op == Op::kCumSum) {
    *reason = "tuned for float32 and integers of 32 and 64 bits";
    return t == DType::kF32 || t == DType::kI32 || t == DType::kI64 ? &kTotals : nullptr;
  }
  cpu::Reduction r;
  *reason = "tuned for float32 and constant, neighbouring axes";
  if (t != DType::kF32) return nullptr;
  if (q.op == Op::kLpNormalization) return &kNormalize;
  return read(q, &r) ? &kLogSumExp : nullptr;
}

}  // namespace

extern const CpuOp kCpuOp_lines;
const CpuOp kCpuOp_lines = {"lines", choose};

}  // namespace vireo
