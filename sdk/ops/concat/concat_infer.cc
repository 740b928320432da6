// Concat: the inputs side by side along `axis`; all other extents are equal. Every data type.
//   alias    an input may lie in the output, at its place there
// Source: ONNX opset 13 "Concat".
#include "sdk/base/checked.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/shared/infer.h"
#include "sdk/ops/shared/parts.h"

namespace vireo {
namespace {

Status infer_concat(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  int axis = 0;
  VIREO_TRY(check_axis(ctx, ctx.attrs<attrs::Concat>().axis(), x.shape.rank, &axis));
  TensorType& y = ctx.output(0);
  y = x;
  for (int i = 1; i < ctx.input_count(); ++i) {
    const TensorType& t = ctx.input(i);
    if (t.dtype != x.dtype) {
      return ctx.fail(Status::kInvalidModel, "Concat: input {} is {}, input 0 is {}", i, dtype_name(t.dtype),
                      dtype_name(x.dtype));
    }
    VIREO_TRY(check_rank(ctx, i, x.shape.rank, x.shape.rank));
    for (int k = 0; k < x.shape.rank; ++k) {
      if (k == axis) {
        y.shape[k] = ctx.add(y.shape[k], t.shape[k]);
      } else if (ctx.differ(y.shape[k], t.shape[k])) {
        return ctx.fail(Status::kInvalidModel, "Concat along {}: input {} is {}, input 0 is {}", axis, i, t.shape,
                        x.shape);
      } else if (is_symbolic(y.shape[k])) {
        y.shape[k] = t.shape[k];  // a number where one input has it
      }
    }
  }
  return Status::kOk;
}

// All or none: what is written where is known only if the begin of every part is.
void parts(const PartQuery& q, Span<int64_t> at) {
  const Shape y = q.output(0).shape;
  const int axis = normalize_axis(q.attrs<attrs::Concat>().axis(), y.rank);
  if (axis < 0 || !ones_before(y, axis)) return;
  const int64_t inner = known_count(y, axis + 1, y.rank);
  if (inner < 0) return;
  int64_t begin = 0, elements = 0;
  for (size_t i = 0; i + 1 < at.size(); ++i) {
    const Shape x = q.input(i).shape;
    if (x.rank != y.rank || x[axis] < 0 || !checked_add(begin, x[axis], &begin)) return;
  }
  if (!checked_mul(begin, inner, &elements)) return;
  begin = 0;
  for (size_t i = 0; i < at.size(); ++i) {
    at[i] = begin * inner;
    begin += i + 1 < at.size() ? q.input(i).shape[axis] : 0;
  }
}

}  // namespace

extern const OpDef kConcatOp;
const OpDef kConcatOp = {"Concat", verify_attrs<attrs::Concat>, infer_concat, 1, 255, 1, 1, OpDef::kInputsInside, 0,
                         parts};

}  // namespace vireo
