// Determinant of square matrices, by elimination with partial pivoting.
//   x   [..., M, M]; f32, f64, f16, bf16;  y: [...], dtype of x;  alias none;  scratch one matrix in float64 a slot
// Source: ONNX opset 22 "Det".
#include "sdk/ops/det/det_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_det(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  if (!dtype_is_float(x.dtype) || dtype_bits(x.dtype) < 16) {
    return ctx.fail(Status::kInvalidModel, "Det of {}", dtype_name(x.dtype));
  }
  VIREO_TRY(check_rank(ctx, 0, 2, kMaxRank));
  if (ctx.differ(x.shape[x.shape.rank - 1], x.shape[x.shape.rank - 2])) {
    return ctx.fail(Status::kInvalidModel, "Det of {}: the last two dimensions differ", x.shape);
  }
  ctx.output(0) = x;
  ctx.output(0).shape.rank = x.shape.rank - 2;
  return Status::kOk;
}

}  // namespace

extern const OpDef kDetOp;
const OpDef kDetOp = {"Det", verify_attrs<attrs::Det>, infer_det, 1, 1, 1, 1, OpDef::kPure, /*inplace=*/0};

}  // namespace vireo
