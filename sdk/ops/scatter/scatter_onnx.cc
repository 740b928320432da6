// Scatter (opsets 9 and 10) is ScatterElements by its old name. Reductions came with opset 16, min and max with 18.
#include "sdk/ops/scatter/scatter_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status read_reduction(ImportContext& ctx, attrs::ScatterReduction* out) {
  const std::string name = ctx.attr_string("reduction", "none");
  const char* const names[] = {"none", "add", "mul", "min", "max"};
  for (uint8_t i = 0; i < 5; ++i) {
    if (name != names[i]) continue;
    *out = static_cast<attrs::ScatterReduction>(i);
    return Status::kOk;
  }
  return ctx.fail(Status::kInvalidModel, "reduction is \"" + name + "\"", "use none, add, mul, min or max");
}

Status import_elements(ImportContext& ctx) {
  attrs::ScatterElementsT a;
  a.axis = ctx.attr_int32("axis", 0);
  VIREO_TRY(read_reduction(ctx, &a.reduction));
  return import_direct(ctx, Op::kScatterElements, pack<attrs::ScatterElements>(a));
}

Status import_nd(ImportContext& ctx) {
  attrs::ScatterNDT a;
  VIREO_TRY(read_reduction(ctx, &a.reduction));
  return import_direct(ctx, Op::kScatterND, pack<attrs::ScatterND>(a));
}

Status import_tensor(ImportContext& ctx) {
  attrs::TensorScatterT a;
  a.axis = ctx.attr_int32("axis", -2);
  const std::string mode = ctx.attr_string("mode", "linear");
  if (mode != "linear" && mode != "circular") {
    return ctx.fail(Status::kInvalidModel, "mode is \"" + mode + "\"", "use linear or circular");
  }
  a.circular = mode == "circular";
  return import_direct(ctx, Op::kTensorScatter, pack<attrs::TensorScatter>(a));
}

}  // namespace

extern const OnnxImport kScatterOnnx;
extern const OnnxImport kScatterElementsOnnx;
extern const OnnxImport kScatterNDOnnx;
extern const OnnxImport kTensorScatterOnnx;
const OnnxImport kScatterOnnx = {"", "Scatter", import_elements};
const OnnxImport kScatterElementsOnnx = {"", "ScatterElements", import_elements};
const OnnxImport kScatterNDOnnx = {"", "ScatterND", import_nd};
const OnnxImport kTensorScatterOnnx = {"", "TensorScatter", import_tensor};

Status export_scatter(ExportContext& ctx) {
  const char* const reductions[] = {"none", "add", "mul", "min", "max"};
  if (ctx.op() == Op::kTensorScatter) {
    const auto& a = ctx.attrs<attrs::TensorScatter>();
    return ctx.done(ctx.same().number("axis", a.axis()).text("mode", a.circular() ? "circular" : "linear").needs(24));
  }
  if (ctx.op() == Op::kScatterND) {
    const auto reduction = static_cast<size_t>(ctx.attrs<attrs::ScatterND>().reduction());
    return ctx.done(ctx.same().text("reduction", reductions[reduction]));
  }
  const auto& a = ctx.attrs<attrs::ScatterElements>();
  OnnxNode n = ctx.same().number("axis", a.axis());
  return ctx.done(n.text("reduction", reductions[static_cast<size_t>(a.reduction())]));
}

}  // namespace vireo
