// Opset 14 has training_mode and outputs Y, running_mean, running_var. Before, training was told by is_test = 0 (opset
// 1, 6) or by asking for outputs 1 to 4 (opset 7, 9); a node that asks for Y alone is run for inference, as every
// runtime does.
#include "sdk/ops/batch_normalization/batch_normalization_generated.h"
#include "sdk/ops/old_training.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import(ImportContext& ctx) {
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
const OnnxImport kBatchNormalizationOnnx = {"", "BatchNormalization", import};

Status export_batch_normalization(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::BatchNormalization>();
  OnnxNode n = ctx.same().real("epsilon", a.epsilon()).real("momentum", a.momentum());
  return ctx.done_in_layout(n.flag("training_mode", a.training_mode()), a.layout());
}

}  // namespace vireo
