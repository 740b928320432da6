// GlobalMaxPool, GlobalAveragePool, GlobalLpPool: one value a channel, over all spatial dimensions.
//   x   [N, C, spatial...] or [N, spatial..., C], any number of spatial dimensions; f32, f64, f16, bf16
//   y   x with spatial extents 1
//   alias none; scratch none
// Source: ONNX opset 22 "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool".
#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_global_pool(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::GlobalPool>();
  const TensorType& x = ctx.input(0);
  if (!dtype_is_float(x.dtype) || dtype_bits(x.dtype) < 16) {
    return ctx.fail(Status::kInvalidModel, "a global pool of {}", dtype_name(x.dtype));
  }
  VIREO_TRY(check_rank(ctx, 0, 2, kMaxRank));
  if (a.layout() > 1)
    return ctx.fail(Status::kInvalidModel, "layout {} is none of NCHW (0), NHWC (1)", int{a.layout()});
  if (a.p() < 1) return ctx.fail(Status::kInvalidModel, "p is {}, wanted at least 1", a.p());
  TensorType& y = ctx.output(0);
  y = x;
  const int channel = a.layout() == 0 ? 1 : x.shape.rank - 1;
  for (int i = 1; i < x.shape.rank; ++i) {
    if (i != channel) y.shape[i] = 1;
  }
  return Status::kOk;
}

}  // namespace

extern const OpDef kGlobalMaxPoolOp;
const OpDef kGlobalMaxPoolOp = {"GlobalMaxPool", verify_attrs<attrs::GlobalPool>, infer_global_pool, 1, 1, 1, 1,
                                OpDef::kPure,
                                /*inplace=*/0};
extern const OpDef kGlobalAveragePoolOp;
const OpDef kGlobalAveragePoolOp = {
    "GlobalAveragePool", verify_attrs<attrs::GlobalPool>, infer_global_pool, 1, 1, 1, 1, OpDef::kPure, /*inplace=*/0};
extern const OpDef kGlobalLpPoolOp;
const OpDef kGlobalLpPoolOp = {"GlobalLpPool", verify_attrs<attrs::GlobalPool>, infer_global_pool, 1, 1, 1, 1,
                               OpDef::kPure,
                               /*inplace=*/0};

}  // namespace vireo
