// LayerNormalization since opset 17 (some exporters write it earlier, with the same meaning), RMSNormalization
// since 23. ONNX Runtime's names for what it fuses: SimplifiedLayerNormalization is RMSNormalization;
// SkipLayerNormalization and SkipSimplifiedLayerNormalization normalise input + skip (+ bias), and give that sum as
// output 3.
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_axis(ImportContext& ctx, int32_t* out) {
  const int64_t axis = ctx.attr_int("axis", -1);
  if (axis < -kMaxRank || axis >= kMaxRank) return ctx.fail(Status::kInvalidModel, "axis is " + std::to_string(axis));
  *out = static_cast<int32_t>(axis);
  return Status::kOk;
}

Status import_layer(ImportContext& ctx) {
  attrs::LayerNormalizationT a;
  VIREO_TRY(import_axis(ctx, &a.axis));
  a.epsilon = ctx.attr_float("epsilon", 1e-5f);
  const int64_t stash = ctx.attr_int("stash_type", 1);
  a.stash_type = stash >= 0 && stash < kDTypeCount ? static_cast<uint8_t>(stash) : 0;
  return import_direct(ctx, Op::kLayerNormalization, pack<attrs::LayerNormalization>(a));
}

Status import_rms(ImportContext& ctx) {
  attrs::RMSNormalizationT a;
  VIREO_TRY(import_axis(ctx, &a.axis));
  a.epsilon = ctx.attr_float("epsilon", 1e-5f);
  if (ctx.wants_output(1)) {
    return ctx.fail(Status::kUnsupported, "output 1, the inverse deviation, which is for training",
                    "export for inference");
  }
  return import_direct(ctx, Op::kRMSNormalization, pack<attrs::RMSNormalization>(a));
}

Status import_skip(ImportContext& ctx, bool centre) {
  const auto add = [&](Value a, Value b) { return ctx.emit1(Op::kAdd, pack<attrs::Binary>(attrs::BinaryT{}), {a, b}); };
  // The optimiser for transformers puts the product of which the bias is in front: joined first, they are one epilogue.
  Value sum = ctx.input(0);
  const Value bias = ctx.input(centre ? 4 : 3);
  if (bias) sum = add(sum, bias);
  if (sum) sum = add(sum, ctx.input(1));
  if (!sum) return Status::kInvalidModel;
  if (ctx.wants_output(3)) ctx.set_output(3, sum);
  const float epsilon = ctx.attr_float("epsilon", 1e-12f);
  if (!centre) {
    if (ctx.wants_output(1) || ctx.wants_output(2))
      return ctx.fail(Status::kUnsupported, "outputs 1 and 2 are for training");
    attrs::RMSNormalizationT a;
    a.epsilon = epsilon;
    const Value y = ctx.emit1(Op::kRMSNormalization, pack<attrs::RMSNormalization>(a), {sum, ctx.input(2)});
    if (!y) return Status::kInvalidModel;
    ctx.set_output(0, y);
    return Status::kOk;
  }
  attrs::LayerNormalizationT a;
  a.epsilon = epsilon;
  std::vector<Value> inputs = {sum, ctx.input(2)};
  if (ctx.input(3)) inputs.push_back(ctx.input(3));
  const int outputs = ctx.wants_output(2) ? 3 : ctx.wants_output(1) ? 2 : 1;
  const std::vector<Value> y =
      ctx.emit(Op::kLayerNormalization, pack<attrs::LayerNormalization>(a), std::move(inputs), outputs);
  if (y.empty()) return Status::kInvalidModel;
  for (int i = 0; i < outputs; ++i) {
    if (ctx.wants_output(i)) ctx.set_output(i, y[static_cast<size_t>(i)]);
  }
  return Status::kOk;
}

Status import_skip_layer(ImportContext& ctx) { return import_skip(ctx, true); }
Status import_skip_rms(ImportContext& ctx) { return import_skip(ctx, false); }

}  // namespace

extern const OnnxImport kLayerNormalizationOnnx;
const OnnxImport kLayerNormalizationOnnx = {"", "LayerNormalization", import_layer};
extern const OnnxImport kRMSNormalizationOnnx;
const OnnxImport kRMSNormalizationOnnx = {"", "RMSNormalization", import_rms};
extern const OnnxImport kSimplifiedLayerNormalizationOnnx;
const OnnxImport kSimplifiedLayerNormalizationOnnx = {"", "SimplifiedLayerNormalization", import_rms};
extern const OnnxImport kMsLayerNormalizationOnnx;
const OnnxImport kMsLayerNormalizationOnnx = {"com.microsoft", "LayerNormalization", import_layer};
extern const OnnxImport kMsSimplifiedLayerNormalizationOnnx;
const OnnxImport kMsSimplifiedLayerNormalizationOnnx = {"com.microsoft", "SimplifiedLayerNormalization", import_rms};
extern const OnnxImport kSkipLayerNormalizationOnnx;
const OnnxImport kSkipLayerNormalizationOnnx = {"com.microsoft", "SkipLayerNormalization", import_skip_layer};
extern const OnnxImport kSkipSimplifiedLayerNormalizationOnnx;
const OnnxImport kSkipSimplifiedLayerNormalizationOnnx = {"com.microsoft", "SkipSimplifiedLayerNormalization",
                                                          import_skip_rms};

Status export_layer_normalization(ExportContext& ctx) {
  if (ctx.op() == Op::kRMSNormalization) {
    const auto& a = ctx.attrs<attrs::RMSNormalization>();
    return ctx.done(ctx.same().number("axis", a.axis()).real("epsilon", a.epsilon()).needs(23));
  }
  const auto& a = ctx.attrs<attrs::LayerNormalization>();
  OnnxNode n = ctx.same().number("axis", a.axis()).real("epsilon", a.epsilon());
  return ctx.done(n.number("stash_type", a.stash_type()));
}

}  // namespace vireo
