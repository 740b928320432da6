// One version each.
#include "sdk/ops/conv_integer/conv_integer_generated.h"
#include "sdk/ops/shared/window_export.h"
#include "sdk/ops/shared/window_import.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_conv_integer(ImportContext& ctx, Op op, int weights) {
  attrs::ConvIntegerT a;
  VIREO_TRY(import_window(ctx, &a));
  VIREO_TRY(check_kernel_shape(ctx, weights));
  const int64_t group = ctx.attr_int("group", 1);
  if (group < 1 || group > INT32_MAX) return ctx.fail(Status::kInvalidModel, "group is " + std::to_string(group));
  a.group = static_cast<int32_t>(group);
  return import_direct(ctx, op, pack<attrs::ConvInteger>(a));
}

Status import_integer(ImportContext& ctx) { return import_conv_integer(ctx, Op::kConvInteger, 1); }
Status import_qlinear(ImportContext& ctx) { return import_conv_integer(ctx, Op::kQLinearConv, 3); }

}  // namespace

extern const OnnxImport kConvIntegerOnnx;
const OnnxImport kConvIntegerOnnx = {"", "ConvInteger", import_integer};
extern const OnnxImport kQLinearConvOnnx;
const OnnxImport kQLinearConvOnnx = {"", "QLinearConv", import_qlinear};

Status export_conv_integer(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::ConvInteger>();
  OnnxNode n = ctx.same();
  export_window_attributes(a, &n);
  return ctx.done_in_layout(n.number("group", a.group()), a.layout());
}

}  // namespace vireo
