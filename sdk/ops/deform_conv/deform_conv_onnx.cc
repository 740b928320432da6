// Opsets 19 and 22 differ in types alone.
#include "sdk/ops/deform_conv/deform_conv_generated.h"
#include "sdk/ops/shared/window_import.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_deform_conv(ImportContext& ctx) {
  attrs::DeformConvT a;
  VIREO_TRY(import_ints(ctx, "strides", &a.strides));
  VIREO_TRY(import_ints(ctx, "dilations", &a.dilations));
  VIREO_TRY(import_ints(ctx, "pads", &a.pads));
  VIREO_TRY(check_kernel_shape(ctx, 1));
  const int64_t group = ctx.attr_int("group", 1), offset_group = ctx.attr_int("offset_group", 1);
  if (group < 1 || group > INT32_MAX || offset_group < 1 || offset_group > INT32_MAX) {
    return ctx.fail(Status::kInvalidModel,
                    "group is " + std::to_string(group) + ", offset_group " + std::to_string(offset_group));
  }
  a.group = static_cast<int32_t>(group);
  a.offset_group = static_cast<int32_t>(offset_group);
  return import_direct(ctx, Op::kDeformConv, pack<attrs::DeformConv>(a));
}

}  // namespace

extern const OnnxImport kDeformConvOnnx;
const OnnxImport kDeformConvOnnx = {"", "DeformConv", import_deform_conv};

Status export_deform_conv(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::DeformConv>();
  OnnxNode n = ctx.same().numbers("strides", a.strides()).numbers("dilations", a.dilations()).numbers("pads", a.pads());
  return ctx.done(n.number("group", a.group()).number("offset_group", a.offset_group()));
}

}  // namespace vireo
