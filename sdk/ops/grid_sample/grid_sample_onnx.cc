// Until opset 19 the modes were called bilinear and bicubic.
#include "sdk/ops/grid_sample/grid_sample_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_sample(ImportContext& ctx) {
  attrs::GridSampleT a;
  const std::string mode = ctx.attr_string("mode", "linear"), padding = ctx.attr_string("padding_mode", "zeros");
  if (mode == "nearest") {
    a.mode = attrs::GridSampleMode::nearest;
  } else if (mode == "cubic" || mode == "bicubic") {
    a.mode = attrs::GridSampleMode::cubic;
  } else if (mode != "linear" && mode != "bilinear") {
    return ctx.fail(Status::kInvalidModel, "mode is \"" + mode + "\"", "use linear, nearest or cubic");
  }
  if (padding == "border") {
    a.padding = attrs::GridSamplePadding::border;
  } else if (padding == "reflection") {
    a.padding = attrs::GridSamplePadding::reflection;
  } else if (padding != "zeros") {
    return ctx.fail(Status::kInvalidModel, "padding_mode is \"" + padding + "\"", "use zeros, border or reflection");
  }
  a.align_corners = ctx.attr_int("align_corners", 0) != 0;
  return import_direct(ctx, Op::kGridSample, pack<attrs::GridSample>(a));
}

Status import_affine(ImportContext& ctx) {
  attrs::AffineGridT a;
  a.align_corners = ctx.attr_int("align_corners", 0) != 0;
  return import_direct(ctx, Op::kAffineGrid, pack<attrs::AffineGrid>(a));
}

}  // namespace

extern const OnnxImport kGridSampleOnnx;
extern const OnnxImport kAffineGridOnnx;
const OnnxImport kGridSampleOnnx = {"", "GridSample", import_sample};
const OnnxImport kAffineGridOnnx = {"", "AffineGrid", import_affine};

Status export_grid_sample(ExportContext& ctx) {
  if (ctx.op() == Op::kAffineGrid)
    return ctx.done(ctx.same().flag("align_corners", ctx.attrs<attrs::AffineGrid>().align_corners()));
  const char* const modes[] = {"linear", "nearest", "cubic"};
  const char* const paddings[] = {"zeros", "border", "reflection"};
  const auto& a = ctx.attrs<attrs::GridSample>();
  OnnxNode n = ctx.same().text("mode", modes[static_cast<size_t>(a.mode())]);
  n.text("padding_mode", paddings[static_cast<size_t>(a.padding())]);
  return ctx.done(n.flag("align_corners", a.align_corners()));
}

}  // namespace vireo
