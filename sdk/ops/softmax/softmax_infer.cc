#include "sdk/ops/infer.h"
#include "sdk/ops/softmax/softmax_generated.h"

namespace vireo {
namespace {

Status infer(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  int axis = 0;
  VIREO_TRY(check_axis(ctx, ctx.attrs<attrs::Softmax>().axis(), x.shape.rank, &axis));
  if (!dtype_is_float(x.dtype)) return ctx.fail(Status::kInvalidModel, "Softmax of {}", dtype_name(x.dtype));
  return infer_same(ctx);
}

}  // namespace

extern const OpDef kSoftmaxOp;
const OpDef kSoftmaxOp = {"Softmax", verify_attrs<attrs::Softmax>, infer, 1, 1, 1, 1, OpDef::kPure, /*inplace=*/1};

}  // namespace vireo
