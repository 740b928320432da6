// Local response normalization across channels:
//   y[c] = x[c] / (bias + alpha / size * sum_{i = c - floor((size-1)/2)}^{c + ceil((size-1)/2)} x[i]^2)^beta
//   x   [N, C, spatial...] or [N, spatial..., C]; f32, f64, f16, bf16;  y: type of x;  alias none; scratch none
// Source: ONNX opset 13 "LRN".
#include "sdk/ops/lrn/lrn_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_lrn(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::LRN>();
  const DType t = ctx.input(0).dtype;
  if (!dtype_is_float(t) || dtype_bits(t) < 16) return ctx.fail(Status::kInvalidModel, "LRN of {}", dtype_name(t));
  VIREO_TRY(check_rank(ctx, 0, 2, kMaxRank));
  if (a.size() < 1) return ctx.fail(Status::kInvalidModel, "size is {}, wanted at least 1", a.size());
  if (a.layout() > 1)
    return ctx.fail(Status::kInvalidModel, "layout {} is none of NCHW (0), NHWC (1)", int{a.layout()});
  return infer_same(ctx);
}

}  // namespace

extern const OpDef kLRNOp;
const OpDef kLRNOp = {"LRN", verify_attrs<attrs::LRN>, infer_lrn, 1, 1, 1, 1, OpDef::kPure, /*inplace=*/0};

}  // namespace vireo
