// OneHot: y[a, c, b] = values[1] where indices[a, b] is c or c - depth, else values[0].
//   inputs   indices, numbers (a fraction is cut off); depth, a scalar or [1]; values [2]: off, on, any whole-byte type
//   y        indices' shape with depth inserted at `axis`; type of values
// An index outside [-depth, depth) gives a row that is off. Source: ONNX opset 11 "OneHot".
#include "sdk/ops/one_hot/one_hot_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_one_hot(InferContext& ctx) {
  const TensorType& indices = ctx.input(0);
  const DType depth_type = ctx.input(1).dtype;
  VIREO_TRY(check_rank(ctx, 1, 0, 1));
  VIREO_TRY(check_one_element(ctx, 1));
  VIREO_TRY(check_rank(ctx, 2, 1, 1));
  if (ctx.differ(ctx.input(2).shape[0], 2)) {
    return ctx.fail(Status::kInvalidModel, "OneHot: values has {} elements, wanted 2", ctx.input(2).shape[0]);
  }
  if (dtype_bits(ctx.input(2).dtype) < 8 || dtype_bits(indices.dtype) < 8) {
    return ctx.fail(Status::kUnsupported, "OneHot of packed elements");
  }
  VIREO_TRY(check_result_rank(ctx, indices.shape.rank + 1));
  int axis = 0;
  VIREO_TRY(check_axis(ctx, ctx.attrs<attrs::OneHot>().axis(), indices.shape.rank + 1, &axis));
  Dim depth = 0;
  if (!ctx.known(1)) {
    depth = ctx.unknown();
  } else if (dtype_is_float(depth_type)) {
    const double d = ctx.real(1, 0);
    depth = d >= 0 && d < 1e12 ? static_cast<Dim>(d) : -1;
  } else {
    depth = ctx.value(1, 0);
  }
  if (ctx.known(1) && !is_symbolic(depth) && depth < 0)
    return ctx.fail(Status::kInvalidModel, "OneHot: depth is not a size");
  TensorType& y = ctx.output(0);
  y.dtype = ctx.input(2).dtype;
  for (int k = 0; k <= indices.shape.rank; ++k) {
    y.shape[y.shape.rank++] = k < axis ? indices.shape[k] : k == axis ? depth : indices.shape[k - 1];
  }
  return Status::kOk;
}

}  // namespace

extern const OpDef kOneHotOp;
const OpDef kOneHotOp = {"OneHot", verify_attrs<attrs::OneHot>, infer_one_hot, 3, 3, 1, 1, OpDef::kPure, 0};

}  // namespace vireo
