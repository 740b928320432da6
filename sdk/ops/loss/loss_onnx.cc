// All opsets compute alike; later ones allow more types and say more.
#include "sdk/ops/loss/loss_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_loss(ImportContext& ctx, Op op) {
  attrs::LossT a;
  const std::string reduction = ctx.attr_string("reduction", "mean");
  if (reduction == "none") {
    a.reduction = attrs::LossReduction::None;
  } else if (reduction == "sum") {
    a.reduction = attrs::LossReduction::Sum;
  } else if (reduction != "mean") {
    return ctx.fail(Status::kInvalidModel, "reduction '" + reduction + "' is not none, sum or mean");
  }
  a.ignore = ctx.has_attr("ignore_index");
  a.ignore_index = ctx.attr_int("ignore_index", 0);
  return import_direct(ctx, op, pack<attrs::Loss>(a));
}

}  // namespace

extern const OnnxImport kNegativeLogLikelihoodLossOnnx;
const OnnxImport kNegativeLogLikelihoodLossOnnx = {"", "NegativeLogLikelihoodLoss", [](ImportContext& ctx) {
                                                     return import_loss(ctx, Op::kNegativeLogLikelihoodLoss);
                                                   }};
extern const OnnxImport kSoftmaxCrossEntropyLossOnnx;
const OnnxImport kSoftmaxCrossEntropyLossOnnx = {
    "", "SoftmaxCrossEntropyLoss", [](ImportContext& ctx) { return import_loss(ctx, Op::kSoftmaxCrossEntropyLoss); }};

Status export_loss(ExportContext& ctx) {
  const char* const reductions[] = {"none", "sum", "mean"};
  const auto& a = ctx.attrs<attrs::Loss>();
  OnnxNode n = ctx.same().text("reduction", reductions[static_cast<size_t>(a.reduction())]);
  if (a.ignore()) n.number("ignore_index", a.ignore_index());
  return ctx.done(std::move(n));
}

}  // namespace vireo
