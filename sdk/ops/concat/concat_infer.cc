// Concat: the inputs side by side along `axis`; all other extents are equal. Every data type; no aliasing.
// Source: ONNX opset 13 "Concat".
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/infer.h"

namespace vireo {
namespace {

Status infer(InferContext& ctx) {
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

}  // namespace

extern const OpDef kConcatOp;
const OpDef kConcatOp = {"Concat", verify_attrs<attrs::Concat>, infer, 1, 255, 1, 1, OpDef::kPure, 0};

}  // namespace vireo
