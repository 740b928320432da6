// y = x / (sum |x|^p)^(1/p) along one axis, p 1 or 2; 0 where the norm is 0
//   x   f32, f64, f16, bf16;  y: type of x;  alias y may be x;  scratch none
// Source: ONNX opset 22 "LpNormalization".
#include "sdk/ops/lp_normalization/lp_normalization_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_lp_normalization(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::LpNormalization>();
  const TensorType& x = ctx.input(0);
  if (!dtype_is_float(x.dtype) || dtype_bits(x.dtype) < 16) {
    return ctx.fail(Status::kInvalidModel, "LpNormalization of {}", dtype_name(x.dtype));
  }
  int axis = 0;
  VIREO_TRY(check_axis(ctx, a.axis(), x.shape.rank, &axis));
  if (a.p() != 1 && a.p() != 2) return ctx.fail(Status::kInvalidModel, "p is {}, wanted 1 or 2", a.p());
  return infer_same(ctx);
}

}  // namespace

extern const OpDef kLpNormalizationOp;
const OpDef kLpNormalizationOp = {
    "LpNormalization", verify_attrs<attrs::LpNormalization>, infer_lp_normalization, 1, 1, 1, 1, OpDef::kPure,
    /*inplace=*/1};

}  // namespace vireo
