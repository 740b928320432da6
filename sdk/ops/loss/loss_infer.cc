// How far class scores are from the classes that were wanted.
//   0 x       [N, C, d..]   NegativeLogLikelihoodLoss: log-probabilities; SoftmaxCrossEntropyLoss: scores, made
//             log-probabilities by log softmax over C
//   1 target  [N, d..] i32 or i64, in [0, C) or the index to ignore
//   2 weight  [C], optional: of each class
//   y         -weight[t] log p[t]: [N, d..], or the sum, or the sum over the weights that counted (scalar)
//   log_prob  [N, C, d..]: SoftmaxCrossEntropyLoss only, optional
//   dtype     f32, f64, f16, bf16; sums in f64;  alias none;  scratch none;  error kInvalidArgument for other targets
// Source: ONNX opset 22 "NegativeLogLikelihoodLoss", 13 "SoftmaxCrossEntropyLoss".
#include "sdk/ops/loss/loss_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_loss(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Loss>();
  if (a.reduction() > attrs::LossReduction::MAX) {
    return ctx.fail(Status::kInvalidModel, "reduction {} is not known", static_cast<int>(a.reduction()));
  }
  VIREO_TRY(check_rank(ctx, 0, 2, kMaxRank));
  const TensorType &x = ctx.input(0), &target = ctx.input(1);
  switch (x.dtype) {
    case DType::kF32:
    case DType::kF64:
    case DType::kF16:
    case DType::kBF16:
      break;
    default:
      return ctx.fail(Status::kInvalidModel, "scores of type {}, wanted floating point", dtype_name(x.dtype));
  }
  Shape samples = {x.shape.rank - 1, {x.shape[0]}};
  for (int i = 2; i < x.shape.rank; ++i) samples[i - 1] = x.shape[i];
  bool fits = (target.dtype == DType::kI32 || target.dtype == DType::kI64) && target.shape.rank == samples.rank;
  for (int i = 0; fits && i < samples.rank; ++i) fits = !ctx.differ(target.shape[i], samples[i]);
  if (!fits) {
    return ctx.fail(Status::kInvalidModel, "targets are {} {}, wanted int32 or int64 {}", dtype_name(target.dtype),
                    target.shape, samples);
  }
  if (ctx.has(2)) {
    const TensorType& w = ctx.input(2);
    if (w.dtype != x.dtype || w.shape.rank != 1 || ctx.differ(w.shape[0], x.shape[1])) {
      return ctx.fail(Status::kInvalidModel, "weights are {} {}, wanted {} [{}]", dtype_name(w.dtype), w.shape,
                      dtype_name(x.dtype), x.shape[1]);
    }
  }
  ctx.output(0) = {x.dtype, a.reduction() == attrs::LossReduction::None ? samples : Shape{}};
  if (ctx.wants(1)) ctx.output(1) = x;
  return Status::kOk;
}

}  // namespace

extern const OpDef kNegativeLogLikelihoodLossOp;
const OpDef kNegativeLogLikelihoodLossOp = {
    "NegativeLogLikelihoodLoss", verify_attrs<attrs::Loss>, infer_loss, 2, 3, 1, 1, OpDef::kPure, /*inplace=*/0};
extern const OpDef kSoftmaxCrossEntropyLossOp;
const OpDef kSoftmaxCrossEntropyLossOp = {
    "SoftmaxCrossEntropyLoss", verify_attrs<attrs::Loss>, infer_loss, 2, 3, 1, 2, OpDef::kPure, /*inplace=*/0};

}  // namespace vireo
