// Over dimensions [axis, rank) of x, for each index of the others:
//   LayerNormalization  y = (x - mean) / sqrt(var + epsilon) * scale + bias, var = mean of (x - mean)^2
//     outputs 1 and 2: mean and 1 / sqrt(var + epsilon), normalised extents 1, in stash_type
//   RMSNormalization    y = x / sqrt(mean of x^2 + epsilon) * scale
//   x             f32, f64, f16, bf16
//   scale, bias   broadcast to x; dtype of x, for RMSNormalization any of these types
//   y             shape of x, dtype of scale;  alias y may be x;  scratch none
// Source: ONNX opset 17 "LayerNormalization", opset 23 "RMSNormalization".
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

bool is_real(DType t) { return dtype_is_float(t) && dtype_bits(t) >= 16; }

Status check_parameter(InferContext& ctx, int input) {
  if (!ctx.has(input)) return Status::kOk;
  const Shape& x = ctx.input(0).shape;
  const Shape& p = ctx.input(input).shape;
  bool fits = p.rank <= x.rank;
  for (int i = 0; fits && i < p.rank; ++i) fits = p[i] == 1 || !ctx.differ(p[i], x[x.rank - p.rank + i]);
  if (fits) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "input {} is {}, which does not broadcast to {}", input, p, x);
}

Status infer_layer(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::LayerNormalization>();
  const TensorType& x = ctx.input(0);
  if (!is_real(x.dtype)) return ctx.fail(Status::kInvalidModel, "LayerNormalization of {}", dtype_name(x.dtype));
  int axis = 0;
  VIREO_TRY(check_axis(ctx, a.axis(), x.shape.rank, &axis));
  for (int i = 1; i < 3; ++i) {
    if (ctx.has(i) && ctx.input(i).dtype != x.dtype) {
      return ctx.fail(Status::kInvalidModel, "input 0 is {}, input {} is {}", dtype_name(x.dtype), i,
                      dtype_name(ctx.input(i).dtype));
    }
    VIREO_TRY(check_parameter(ctx, i));
  }
  const DType stash = static_cast<DType>(a.stash_type());
  if (stash != DType::kF32 && stash != DType::kBF16) {
    return ctx.fail(Status::kInvalidModel, "stash_type {} is neither float32 (1) nor bfloat16 (16)",
                    int{a.stash_type()});
  }
  ctx.output(0) = x;
  TensorType statistics{stash, x.shape};
  for (int i = axis; i < x.shape.rank; ++i) statistics.shape[i] = 1;
  if (ctx.wants(1)) ctx.output(1) = statistics;
  if (ctx.wants(2)) ctx.output(2) = statistics;
  return Status::kOk;
}

Status infer_rms(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  const DType scale = ctx.input(1).dtype;
  if (!is_real(x.dtype) || !is_real(scale)) {
    return ctx.fail(Status::kInvalidModel, "RMSNormalization of {} by {}", dtype_name(x.dtype), dtype_name(scale));
  }
  int axis = 0;
  VIREO_TRY(check_axis(ctx, ctx.attrs<attrs::RMSNormalization>().axis(), x.shape.rank, &axis));
  VIREO_TRY(check_parameter(ctx, 1));
  ctx.output(0) = {scale, x.shape};
  return Status::kOk;
}

}  // namespace

extern const OpDef kLayerNormalizationOp;
const OpDef kLayerNormalizationOp = {
    "LayerNormalization", verify_attrs<attrs::LayerNormalization>, infer_layer, 2, 3, 1, 3, OpDef::kPure,
    /*inplace=*/1};
extern const OpDef kRMSNormalizationOp;
const OpDef kRMSNormalizationOp = {
    "RMSNormalization", verify_attrs<attrs::RMSNormalization>, infer_rms, 2, 2, 1, 1, OpDef::kPure, /*inplace=*/1};

}  // namespace vireo
