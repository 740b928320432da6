#include "sdk/ops/dynamic_quantize/dynamic_quantize_generated.h"
#include "sdk/ops/shared/strict_export.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_dynamic_quantize(ImportContext& ctx) {
  return import_direct(ctx, Op::kDynamicQuantizeLinear,
                       pack<attrs::DynamicQuantizeLinear>(attrs::DynamicQuantizeLinearT{}));
}

}  // namespace

extern const OnnxImport kDynamicQuantizeLinearOnnx;
const OnnxImport kDynamicQuantizeLinearOnnx = {"", "DynamicQuantizeLinear", import_dynamic_quantize};

Status export_dynamic_quantize(ExportContext& ctx) {
  OnnxNode n = ctx.same();
  name_outputs(ctx, 3, &n);
  return ctx.done(std::move(n));
}

}  // namespace vireo
