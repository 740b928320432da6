// y = (x - mean) / sqrt(var + epsilon) * scale + bias, mean and (population) variance of each group of channels of each
// image
//   x             [N, C, spatial...] or [N, spatial..., C]; f32, f64, f16, bf16
//   scale, bias   [C], or [num_groups] (opset 18); dtype of x
//   y             type of x;  alias y may be x;  scratch none
// InstanceNormalization is the case of one channel a group.
// Source: ONNX opset 21 "GroupNormalization", opset 22 "InstanceNormalization".
#include "sdk/ops/group_normalization/group_normalization_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_group_normalization(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::GroupNormalization>();
  const TensorType& x = ctx.input(0);
  if (!dtype_is_float(x.dtype) || dtype_bits(x.dtype) < 16) {
    return ctx.fail(Status::kInvalidModel, "GroupNormalization of {}", dtype_name(x.dtype));
  }
  VIREO_TRY(check_rank(ctx, 0, 2, kMaxRank));
  if (a.layout() > 1)
    return ctx.fail(Status::kInvalidModel, "layout {} is none of NCHW (0), NHWC (1)", int{a.layout()});
  const Dim channels = x.shape[a.layout() == 0 ? 1 : x.shape.rank - 1];
  const Dim groups = a.num_groups();
  if (groups < 0 || (groups > 0 && !is_symbolic(channels) && channels % groups != 0)) {
    return ctx.fail(Status::kInvalidModel, "{} channels do not divide into {} groups", channels, groups);
  }
  for (int i = 1; i < 3; ++i) {
    const TensorType& p = ctx.input(i);
    if (p.dtype != x.dtype) {
      return ctx.fail(Status::kInvalidModel, "input 0 is {}, input {} is {}", dtype_name(x.dtype), i,
                      dtype_name(p.dtype));
    }
    if (p.shape.rank != 1 || (ctx.differ(p.shape[0], channels) && (groups == 0 || ctx.differ(p.shape[0], groups)))) {
      return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted one value for each of {} channels", i, p.shape,
                      channels);
    }
  }
  return infer_same(ctx);
}

}  // namespace

extern const OpDef kGroupNormalizationOp;
const OpDef kGroupNormalizationOp = {
    "GroupNormalization", verify_attrs<attrs::GroupNormalization>, infer_group_normalization, 3, 3, 1, 1, OpDef::kPure,
    /*inplace=*/1};

}  // namespace vireo
