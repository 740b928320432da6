#include "sdk/ops/nms/nms_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_nms(ImportContext& ctx) {
  attrs::NonMaxSuppressionT a;
  a.center_point_box = ctx.attr_int("center_point_box", 0) != 0;
  return import_direct(ctx, Op::kNonMaxSuppression, pack<attrs::NonMaxSuppression>(a));
}

}  // namespace

extern const OnnxImport kNonMaxSuppressionOnnx;
const OnnxImport kNonMaxSuppressionOnnx = {"", "NonMaxSuppression", import_nms};

Status export_nms(ExportContext& ctx) {
  return ctx.done(ctx.same().flag("center_point_box", ctx.attrs<attrs::NonMaxSuppression>().center_point_box()));
}

}  // namespace vireo
