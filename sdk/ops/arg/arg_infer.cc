// Index of the greatest (ArgMax) or least (ArgMin) element along one axis: the first of equals, or the last.
//   x        any shape, the axis not empty; a float or an integer of 8 to 64 bits
//   y        int64; the axis is 1 with keepdims, else gone. NaN counts as the extreme: the first one is found, with
//            select_last_index the last
//   alias    none;  scratch none
// Source: ONNX opset 13 "ArgMax", "ArgMin".
#include "sdk/ops/arg/arg_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_arg(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Arg>();
  const Shape& x = ctx.input(0).shape;
  int axis = 0;
  VIREO_TRY(check_type(ctx, 0, kNumberSet));
  VIREO_TRY(check_axis(ctx, a.axis(), x.rank, &axis));
  if (x[axis] == 0) return ctx.fail(Status::kInvalidModel, "axis {} of {} is empty: it has no extreme", axis, x);
  TensorType& y = ctx.output(0);
  y.dtype = DType::kI64;
  y.shape.rank = 0;
  for (int i = 0; i < x.rank; ++i) {
    if (i != axis) {
      y.shape[y.shape.rank++] = x[i];
    } else if (a.keepdims()) {
      y.shape[y.shape.rank++] = 1;
    }
  }
  return Status::kOk;
}

constexpr OpDef row(const char* name) {
  return {name, verify_attrs<attrs::Arg>, infer_arg, 1, 1, 1, 1, OpDef::kPure, /*inplace=*/0};
}

}  // namespace

extern const OpDef kArgMaxOp;
extern const OpDef kArgMinOp;

const OpDef kArgMaxOp = row("ArgMax");
const OpDef kArgMinOp = row("ArgMin");

}  // namespace vireo
