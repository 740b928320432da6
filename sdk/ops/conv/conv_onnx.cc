// Opsets 1, 11 and 22 differ in types and text alone.
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/shared/window_export.h"
#include "sdk/ops/shared/window_import.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_conv(ImportContext& ctx) {
  attrs::ConvT a;
  VIREO_TRY(import_window(ctx, &a));
  VIREO_TRY(check_kernel_shape(ctx, 1));
  const int64_t group = ctx.attr_int("group", 1);
  if (group < 1 || group > INT32_MAX) return ctx.fail(Status::kInvalidModel, "group is " + std::to_string(group));
  a.group = static_cast<int32_t>(group);
  return import_direct(ctx, Op::kConv, pack<attrs::Conv>(a));
}

}  // namespace

extern const OnnxImport kConvOnnx;
const OnnxImport kConvOnnx = {"", "Conv", import_conv};

Status export_conv(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Conv>();
  OnnxNode n = ctx.same();
  export_window_attributes(a, &n);
  return ctx.done_in_layout(n.number("group", a.group()), a.layout());
}

}  // namespace vireo
