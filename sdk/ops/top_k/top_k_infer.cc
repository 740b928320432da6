// TopK: the k largest (smallest) elements along `axis`, in falling (rising) order; of equal ones the lower index comes
// first.
//   inputs   x; k i64 [1]
//   outputs  values; indices i64, both x's shape with k at `axis`
// NaN counts as above every number. Scratch: one word for each element of the axis. Source: ONNX opset 11 "TopK".
#include "sdk/ops/shared/infer.h"
#include "sdk/ops/top_k/top_k_generated.h"

namespace vireo {
namespace {

Status infer_top_k(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  int axis = 0;
  VIREO_TRY(check_axis(ctx, ctx.attrs<attrs::TopK>().axis(), x.shape.rank, &axis));
  VIREO_TRY(check_integer_list(ctx, 1));
  VIREO_TRY(check_one_element(ctx, 1));
  if (dtype_bits(x.dtype) < 8 || !(dtype_is_float(x.dtype) || dtype_is_integer(x.dtype))) {
    return ctx.fail(Status::kInvalidModel, "TopK of {}", dtype_name(x.dtype));
  }
  const Dim d = x.shape[axis];
  const Dim k = ctx.known(1) ? ctx.value(1, 0) : ctx.bounded(d);
  if (!is_symbolic(k) && (k < 0 || (!is_symbolic(d) && k > d))) {
    return ctx.fail(Status::kInvalidModel, "TopK: {} of the {} elements of axis {}", k, d, axis);
  }
  for (int o = 0; o < ctx.output_count(); ++o) {
    ctx.output(o) = {o == 0 ? x.dtype : DType::kI64, x.shape};
    ctx.output(o).shape[axis] = k;
  }
  return Status::kOk;
}

}  // namespace

extern const OpDef kTopKOp;
const OpDef kTopKOp = {"TopK", verify_attrs<attrs::TopK>, infer_top_k, 2, 2, 1, 2, OpDef::kPure, 0};

}  // namespace vireo
