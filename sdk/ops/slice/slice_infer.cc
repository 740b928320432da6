// Slice: y[i] = x[start + i * step] along each listed axis.
//   inputs   data; starts, ends [n]; axes [n] optional (0..n-1); steps [n] optional (1); i32 or i64
//   clamping a negative start or end first has the extent d added; then step > 0: start, end in [0, d];
//            step < 0: start in [0, d-1], end in [-1, d-1]
// Every data type. alias: y may lie in x, at its place there. kInvalidModel for a step of 0. Source: ONNX opset 13
// "Slice".
#include "sdk/base/checked.h"
#include "sdk/ops/shared/infer.h"
#include "sdk/ops/shared/parts.h"
#include "sdk/ops/slice/slice_generated.h"

namespace vireo {
namespace {

// Every extent is far below.
constexpr Dim kFar = INT32_MAX;

// v < 0 ? v + d : v
Dim wrap(InferContext& ctx, Dim v, Dim d) {
  if (!is_symbolic(v)) return v < 0 ? ctx.add(v, d) : v;
  if (ctx.equal(ctx.min(v, 0), 0)) return v;
  // floor(v / 2^40) is -1 for a negative v and 0 otherwise, as no extent comes near 2^40.
  return ctx.sub(v, ctx.mul(d, ctx.floor_div(v, Dim{1} << 40)));
}

// `high` wins: of an empty axis, [0, d-1] leaves start and end at -1.
Dim clamp(InferContext& ctx, Dim v, Dim low, Dim high) { return ctx.min(ctx.max(v, low), high); }

Dim forward(InferContext& ctx, Dim start, Dim end, Dim step, Dim d) {
  const bool to_the_end = ctx.equal(end, d) || (!is_symbolic(end) && end >= kFar && is_symbolic(d));
  if (to_the_end && step == 1 && is_symbolic(d) && !is_symbolic(start)) {
    if (start == 0) return d;
    return start < 0 ? ctx.min(d, -start) : ctx.max(0, ctx.sub(d, start));
  }
  const Dim s = start == 0 ? 0 : clamp(ctx, wrap(ctx, start, d), 0, d);
  const Dim e = to_the_end ? d : clamp(ctx, wrap(ctx, end, d), 0, d);
  return ctx.max(0, ctx.ceil_div(ctx.sub(e, s), step));
}

Dim backward(InferContext& ctx, Dim start, Dim end, Dim step, Dim d) {
  const Dim last = ctx.sub(d, 1);
  const bool from_the_end = start == -1 || (!is_symbolic(start) && start >= kFar && is_symbolic(d));
  const bool to_the_start = !is_symbolic(end) && end <= -kFar;
  const Dim s = from_the_end ? last : clamp(ctx, wrap(ctx, start, d), 0, last);
  const Dim e = to_the_start ? -1 : clamp(ctx, wrap(ctx, end, d), -1, last);
  return ctx.max(0, ctx.ceil_div(ctx.sub(e, s), step));
}

Status infer_slice(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  TensorType& y = ctx.output(0);
  y = x;
  int64_t n = -1;
  for (int i = 1; i < ctx.input_count(); ++i) {
    if (!ctx.has(i)) continue;
    VIREO_TRY(check_integer_list(ctx, i));
    int64_t m = 0;
    if (!known_length(ctx, i, &m))
      return ctx.fail(Status::kUnsupported, "Slice: the length of input {} is not known", i);
    if (n >= 0 && m != n)
      return ctx.fail(Status::kInvalidModel, "Slice: input {} has {} elements, starts has {}", i, m, n);
    n = m;
  }
  if (!ctx.has(1) || !ctx.has(2)) return ctx.fail(Status::kInvalidModel, "Slice: starts or ends is missing");
  if (n > x.shape.rank) return ctx.fail(Status::kInvalidModel, "Slice: {} ranges for {}", n, x.shape);
  if (ctx.has(3) && !ctx.known(3)) {
    for (int k = 0; k < x.shape.rank; ++k) y.shape[k] = ctx.bounded(x.shape[k]);
    return Status::kOk;
  }
  bool seen[kMaxRank] = {};
  for (int64_t i = 0; i < n; ++i) {
    int axis = static_cast<int>(i);
    if (ctx.has(3)) VIREO_TRY(check_axis(ctx, ctx.value(3, i), x.shape.rank, &axis));
    if (seen[axis]) return ctx.fail(Status::kInvalidModel, "Slice: axis {} is listed twice", axis);
    seen[axis] = true;
    const Dim d = x.shape[axis];
    const bool steps_known = !ctx.has(4) || ctx.known(4);
    const Dim step = ctx.has(4) && steps_known ? ctx.value(4, i) : 1;
    if (step == 0) return ctx.fail(Status::kInvalidModel, "Slice: the step of axis {} is 0", axis);
    if (!steps_known || is_symbolic(step) || !ctx.known(1) || !ctx.known(2)) {
      y.shape[axis] = ctx.bounded(d);
      continue;
    }
    const Dim start = ctx.value(1, i), end = ctx.value(2, i);
    y.shape[axis] = step > 0 ? forward(ctx, start, end, step, d) : backward(ctx, start, end, step, d);
  }
  return Status::kOk;
}

// One run: behind the first axis that is cut, in the order of memory from the back, everything else has one element.
void parts(const PartQuery& q, Span<int64_t> at) {
  const TensorType x = q.input(0), y = q.output(0), list = q.input(1);
  const int64_t n = element_count(list.shape);
  if (n < 0 || n > kMaxRank || x.shape.rank != y.shape.rank) return;
  int64_t starts[kMaxRank] = {}, axes[kMaxRank] = {0, 1, 2, 3, 4, 5, 6, 7}, steps[kMaxRank] = {1, 1, 1, 1, 1, 1, 1, 1};
  if (!q.integers(1, n, starts)) return;
  if (q.input(3).dtype != DType::kNone && !q.integers(3, n, axes)) return;
  if (q.input(4).dtype != DType::kNone && !q.integers(4, n, steps)) return;
  int64_t first[kMaxRank] = {};
  for (int64_t i = 0; i < n; ++i) {
    const int axis = normalize_axis(axes[i], x.shape.rank);
    if (axis < 0 || steps[i] != 1) return;
    const Dim d = x.shape[axis];
    int64_t start = starts[i];
    if (start < 0 && is_symbolic(d)) return;
    if (start < 0) start = start + d < 0 ? 0 : start + d;
    first[axis] = !is_symbolic(d) && start > d ? d : start;
  }
  int64_t elements = 0;
  bool whole = true;  // the axes behind
  for (int k = x.shape.rank - 1; k >= 0; --k) {
    if (!whole && y.shape[k] != 1) return;
    whole = whole && y.shape[k] == x.shape[k];
    if (first[k] == 0) continue;
    int64_t before = 0;
    const int64_t stride = known_count(x.shape, k + 1, x.shape.rank);
    if (stride < 0 || !checked_mul(stride, first[k], &before) || !checked_add(elements, before, &elements)) return;
  }
  at[0] = elements;
}

}  // namespace

extern const OpDef kSliceOp;
const OpDef kSliceOp = {"Slice", verify_attrs<attrs::Slice>, infer_slice, 3, 5, 1, 1, OpDef::kPure, 0, parts};

}  // namespace vireo
