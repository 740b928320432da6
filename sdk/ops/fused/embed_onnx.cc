// What ONNX Runtime's optimiser for transformers and diffusion models writes around its attention (com.microsoft).
//   EmbedLayerNormalization  LayerNorm(word[ids] + position[0.. or position_ids] + segment[segment_ids]); output 1:
//                            ones in each row of the mask, or 0; output 2: the sum
//   BiasAdd                  x + bias + skip
//   BiasSplitGelu            left half of x + bias, times Gelu (erf) of the right half
// Source: ONNX Runtime, ContribOperators.md.
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/shared/steps_import.h"
#include "sdk/ops/unary/unary_generated.h"

namespace vireo {
namespace {

Status import_embedding(ImportContext& ctx) {
  enum Input { kIds, kSegments, kWords, kPositions, kSegmentTable, kGamma, kBeta, kMask, kPositionIds };
  Steps s(ctx);
  const Value ids = ctx.input(kIds);
  for (const int i : {kIds, kWords, kPositions, kGamma, kBeta}) {
    const int wanted = i == kGamma || i == kBeta ? 1 : 2;
    if (ctx.input(i) && ctx.type(ctx.input(i)).shape.rank == wanted) continue;
    return ctx.fail(Status::kInvalidModel,
                    "input " + std::to_string(i) + " is missing or not of rank " + std::to_string(wanted));
  }
  if (static_cast<bool>(ctx.input(kSegments)) != static_cast<bool>(ctx.input(kSegmentTable))) {
    return ctx.fail(Status::kInvalidModel, "segment_ids and segment_embedding must be given together");
  }
  const Value position = ctx.input(kPositionIds) ? s.gather(ctx.input(kPositions), ctx.input(kPositionIds))
                                                 : s.slice(ctx.input(kPositions), 0, s.i64({0}), s.shape(ids, 1, 2));
  Value sum = s.add(s.gather(ctx.input(kWords), ids), position);
  if (ctx.input(kSegments)) sum = s.add(sum, s.gather(ctx.input(kSegmentTable), ctx.input(kSegments)));
  attrs::LayerNormalizationT a;
  a.epsilon = ctx.attr_float("epsilon", 1e-12f);
  const Value y =
      s.one(Op::kLayerNormalization, pack<attrs::LayerNormalization>(a), {sum, ctx.input(kGamma), ctx.input(kBeta)});
  if (!y) return Status::kInvalidModel;
  ctx.set_output(0, y);
  if (ctx.wants_output(1)) {
    const Value mask = ctx.input(kMask);
    const Value count = mask ? s.reduce_sum(s.cast(s.equal(mask, s.scalar(DType::kI32, 1)), DType::kI32), 1, false)
                             : s.expand(s.scalar(DType::kI32, 0), s.shape(ids, 0, 1));
    if (!count) return Status::kInvalidModel;
    ctx.set_output(1, count);
  }
  if (ctx.wants_output(2)) ctx.set_output(2, sum);
  return Status::kOk;
}

Status import_bias_add(ImportContext& ctx) {
  Steps s(ctx);
  const Value y = s.add(s.add(ctx.input(0), ctx.input(1)), ctx.input(2));
  return y ? import_value(ctx, y) : ctx.fail(Status::kInvalidModel, "an input is missing");
}

Status import_bias_split_gelu(ImportContext& ctx) {
  Steps s(ctx);
  const Value sum = s.add(ctx.input(0), ctx.input(1));
  if (!sum) return ctx.fail(Status::kInvalidModel, "an input is missing");
  const Shape shape = ctx.type(sum).shape;
  const Dim all = shape.rank < 1 ? 1 : shape[shape.rank - 1];
  if (is_symbolic(all) || all % 2 != 0) {
    return ctx.fail(Status::kInvalidModel, "its last axis is not known to have two halves");
  }
  const std::vector<Value> half = s.split(sum, -1, {all / 2, all / 2});
  const Value gelu = s.one(Op::kGelu, pack<attrs::Gelu>(attrs::GeluT{}), {half[1]});
  return import_value(ctx, s.mul(half[0], gelu));
}

}  // namespace

extern const OnnxImport kEmbedLayerNormalizationOnnx;
const OnnxImport kEmbedLayerNormalizationOnnx = {"com.microsoft", "EmbedLayerNormalization", import_embedding};
extern const OnnxImport kBiasAddOnnx;
const OnnxImport kBiasAddOnnx = {"com.microsoft", "BiasAdd", import_bias_add};
extern const OnnxImport kBiasSplitGeluOnnx;
const OnnxImport kBiasSplitGeluOnnx = {"com.microsoft", "BiasSplitGelu", import_bias_split_gelu};

}  // namespace vireo
