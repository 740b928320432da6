// The axis has had to be given since opset 4; before, it was 1 unless said otherwise.
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_concat(ImportContext& ctx) {
  if (ctx.opset() >= 4 && !ctx.has_attr("axis")) {
    return ctx.fail(Status::kInvalidModel, "the attribute axis is missing", "export the model again, or set axis");
  }
  attrs::ConcatT a;
  a.axis = ctx.attr_int32("axis", 1);
  return import_direct(ctx, Op::kConcat, pack<attrs::Concat>(a));
}

}  // namespace

extern const OnnxImport kConcatOnnx;
const OnnxImport kConcatOnnx = {"", "Concat", import_concat};

Status export_concat(ExportContext& ctx) {
  return ctx.done(ctx.same().number("axis", ctx.attrs<attrs::Concat>().axis()));
}

}  // namespace vireo
