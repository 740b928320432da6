// NonMaxSuppression: for each batch and class, boxes by falling score, each kept unless it overlaps a kept one too
// much.
//   inputs   boxes f32 [B, N, 4]; scores f32 [B, C, N]; max_output_boxes_per_class i64, optional (0: nothing comes
//   out);
//            iou_threshold f32, optional (0); score_threshold f32, optional (none): scalars or [1]
//   y        i64 [n, 3]: batch, class, box. n is known after the run, at most B * C * min(max_output_boxes_per_class,
//   N)
// A box goes when area(a and b) / area(a or b) > iou_threshold; a box without area overlaps nothing. Of equal scores
// the lower index comes first. Scratch: 2 N words. Source: ONNX opset 11 "NonMaxSuppression".
#include "sdk/ops/nms/nms_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_nms(InferContext& ctx) {
  const Shape& boxes = ctx.input(0).shape;
  const Shape& scores = ctx.input(1).shape;
  VIREO_TRY(check_rank(ctx, 0, 3, 3));
  VIREO_TRY(check_rank(ctx, 1, 3, 3));
  if (ctx.input(0).dtype != DType::kF32 || ctx.input(1).dtype != DType::kF32) {
    return ctx.fail(Status::kInvalidModel, "NonMaxSuppression of {} boxes, {} scores; both are float32",
                    dtype_name(ctx.input(0).dtype), dtype_name(ctx.input(1).dtype));
  }
  if (ctx.differ(boxes[0], scores[0]) || ctx.differ(boxes[1], scores[2]) || ctx.differ(boxes[2], 4)) {
    return ctx.fail(Status::kInvalidModel, "NonMaxSuppression: boxes {} against scores {}", boxes, scores);
  }
  if (ctx.has(2)) VIREO_TRY(check_integer_list(ctx, 2));
  for (int i = 2; i < 5; ++i) {
    if (!ctx.has(i)) continue;
    VIREO_TRY(check_one_element(ctx, i));
    if (i == 2) continue;
    VIREO_TRY(check_rank(ctx, i, 0, 1));
    if (ctx.input(i).dtype != DType::kF32)
      return ctx.fail(Status::kInvalidModel, "NonMaxSuppression: input {} is no float32", i);
  }
  Dim most = ctx.has(2) ? boxes[1] : 0;
  if (ctx.has(2) && ctx.known(2)) {
    const Dim given = ctx.value(2, 0);
    most = ctx.min(most, is_symbolic(given) || given > 0 ? given : 0);
  }
  TensorType& y = ctx.output(0);
  y.dtype = DType::kI64;
  y.shape.rank = 2;
  y.shape[0] = ctx.bounded(ctx.mul(ctx.mul(boxes[0], scores[1]), most));
  y.shape[1] = 3;
  return Status::kOk;
}

}  // namespace

extern const OpDef kNonMaxSuppressionOp;
const OpDef kNonMaxSuppressionOp = {
    "NonMaxSuppression", verify_attrs<attrs::NonMaxSuppression>, infer_nms, 2, 5, 1, 1, OpDef::kDataDependent, 0};

}  // namespace vireo
