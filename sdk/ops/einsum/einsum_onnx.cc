// Opset 28 adds types to 12.
#include "sdk/ops/einsum/einsum_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_einsum(ImportContext& ctx) {
  attrs::EinsumT a;
  a.equation = ctx.attr_string("equation", "");
  return import_direct(ctx, Op::kEinsum, pack<attrs::Einsum>(a));
}

}  // namespace

extern const OnnxImport kEinsumOnnx;
const OnnxImport kEinsumOnnx = {"", "Einsum", import_einsum};

Status export_einsum(ExportContext& ctx) {
  return ctx.done(ctx.same().text("equation", ctx.attrs<attrs::Einsum>().equation()->str()));
}

}  // namespace vireo
