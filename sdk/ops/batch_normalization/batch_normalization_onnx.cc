// Opset 14 has training_mode and outputs Y, running_mean, running_var. Before, training was told by is_test = 0 (opset
// 1, 6) or by asking for outputs 1 to 4 (opset 7, 9); a node that asks for Y alone is run for inference, as every
// runtime does.
#include "sdk/ops/batch_normalization/batch_normalization_generated.h"
#include "sdk/ops/shared/old_training.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_batch_normalization(ImportContext& ctx) {
  attrs::BatchNormalizationT a;
  a.epsilon = ctx.attr_float("epsilon", 1e-5f);
  a.momentum = ctx.attr_float("momentum", 0.9f);
  assume_inference(ctx);
  if (ctx.opset() >= 14) {
    a.training_mode = ctx.attr_int("training_mode", 0) != 0;
  } else {
    for (int i = 1; i < 5; ++i) {
      if (ctx.wants_output(i)) {
        return ctx.fail(Status::kUnsupported, "training outputs of opset " + std::to_string(ctx.opset()),
                        "export the model for inference, or with opset 14 or newer");
      }
    }
  }
  if (!a.training_mode) {  // named but unused outputs of exporters are dropped
    std::vector<Value> inputs;
    for (int i = 0; i < 5; ++i) inputs.push_back(ctx.input(i));
    const Value y = ctx.emit1(Op::kBatchNormalization, pack<attrs::BatchNormalization>(a), std::move(inputs));
    if (!y) return Status::kInvalidModel;
    ctx.set_output(0, y);
    return Status::kOk;
  }
  return import_direct(ctx, Op::kBatchNormalization, pack<attrs::BatchNormalization>(a));
}

}  // namespace

extern const OnnxImport kBatchNormalizationOnnx;
const OnnxImport kBatchNormalizationOnnx = {"", "BatchNormalization", import_batch_normalization};

namespace {

// One value an activation (spatial = 0), which ONNX dropped with opset 9: (x - mean) / sqrt(var + epsilon) * scale +
// bias.
Status export_formula(ExportContext& ctx, float epsilon) {
  const auto operand = [&](int i) {
    const DType type = ctx.input_type(0).dtype;
    return ctx.input_type(i).dtype == type ? ctx.input(i) : ctx.cast(ctx.input(i), type);
  };
  const std::string tiny = ctx.add_scalar(ctx.input_type(0).dtype, static_cast<double>(epsilon));
  const std::string deviation = ctx.step("Sqrt", {ctx.step("Add", {operand(4), tiny})});
  const std::string centred = ctx.step("Sub", {ctx.input(0), operand(3)});
  const std::string scaled = ctx.step("Mul", {ctx.step("Div", {centred, deviation}), operand(1)});
  return ctx.finish("Add", {scaled, operand(2)});
}

}  // namespace

Status export_batch_normalization(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::BatchNormalization>();
  if (ctx.input_type(1).shape.rank > 1) return export_formula(ctx, a.epsilon());
  OnnxNode n = ctx.same().real("epsilon", a.epsilon()).real("momentum", a.momentum());
  return ctx.done_in_layout(n.flag("training_mode", a.training_mode()), a.layout());
}

}  // namespace vireo
