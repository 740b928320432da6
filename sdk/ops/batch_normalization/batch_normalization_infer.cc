// y = (x - mean) / sqrt(var + epsilon) * scale + bias, per channel
//   x            [N, C, spatial...] or [N, spatial..., C] (layout), or [N] with one channel; f32, f64, f16, bf16
//   scale, bias, mean, var   [C], or x's shape without N (opset 1 to 8 with spatial = 0); any float
//   y            type of x; may be x
//   training_mode: mean and var (population) are those of x; outputs 1 and 2 are
//     momentum * mean + (1 - momentum) * mean of x, and the same of var; types of inputs 3 and 4
//   scratch none
// Source: ONNX opset 15 "BatchNormalization".
#include "sdk/ops/batch_normalization/batch_normalization_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_batch_normalization(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::BatchNormalization>();
  const TensorType& x = ctx.input(0);
  for (int i = 0; i < 5; ++i) {
    const DType t = ctx.input(i).dtype;
    if (!dtype_is_float(t) || dtype_bits(t) < 16)
      return ctx.fail(Status::kInvalidModel, "input {} is {}", i, dtype_name(t));
  }
  VIREO_TRY(check_rank(ctx, 0, 1, kMaxRank));
  if (a.layout() > 1)
    return ctx.fail(Status::kInvalidModel, "layout {} is none of NCHW (0), NHWC (1)", int{a.layout()});
  const int axis = a.layout() == 0 ? 1 : x.shape.rank - 1;
  const Dim channels = x.shape.rank == 1 ? 1 : x.shape[axis];
  const bool per_element = ctx.input(1).shape.rank > 1;
  if (per_element && (a.layout() != 0 || a.training_mode())) {
    return ctx.fail(Status::kUnsupported, "parameters of one value an activation in training or with layout NHWC");
  }
  for (int i = 1; i < 5; ++i) {
    const Shape& p = ctx.input(i).shape;
    bool fits = per_element ? p.rank == x.shape.rank - 1 : p.rank == 1 && !ctx.differ(p[0], channels);
    for (int d = 0; fits && per_element && d < p.rank; ++d) fits = !ctx.differ(p[d], x.shape[d + 1]);
    if (!fits)
      return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted one value for each of {} channels", i, p,
                      channels);
  }
  if (!a.training_mode() && ctx.output_count() > 1) {
    return ctx.fail(Status::kInvalidModel, "running mean and variance are outputs of training_mode 1 alone");
  }
  ctx.output(0) = x;
  if (ctx.wants(1)) ctx.output(1) = ctx.input(3);
  if (ctx.wants(2)) ctx.output(2) = ctx.input(4);
  return Status::kOk;
}

}  // namespace

extern const OpDef kBatchNormalizationOp;
const OpDef kBatchNormalizationOp = {
    "BatchNormalization", verify_attrs<attrs::BatchNormalization>, infer_batch_normalization, 5, 5, 1, 3, OpDef::kPure,
    /*inplace=*/1};

}  // namespace vireo
