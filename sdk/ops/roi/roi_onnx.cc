// RoiAlign shifts coordinates by half an element unless told otherwise since opset 16; opset 10 never did.
#include "sdk/ops/roi/roi_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_align(ImportContext& ctx) {
  attrs::RoiAlignT a;
  a.output_height = ctx.attr_int32("output_height", 1);
  a.output_width = ctx.attr_int32("output_width", 1);
  a.sampling_ratio = ctx.attr_int32("sampling_ratio", 0);
  a.spatial_scale = ctx.attr_float("spatial_scale", 1);
  const std::string mode = ctx.attr_string("mode", "avg");
  const std::string coordinate =
      ctx.attr_string("coordinate_transformation_mode", ctx.opset() >= 16 ? "half_pixel" : "output_half_pixel");
  if (mode != "avg" && mode != "max")
    return ctx.fail(Status::kInvalidModel, "mode is \"" + mode + "\"", "use avg or max");
  if (coordinate != "half_pixel" && coordinate != "output_half_pixel") {
    return ctx.fail(Status::kInvalidModel, "coordinate_transformation_mode is \"" + coordinate + "\"",
                    "use half_pixel or output_half_pixel");
  }
  a.max = mode == "max";
  a.half_pixel = coordinate == "half_pixel";
  return import_direct(ctx, Op::kRoiAlign, pack<attrs::RoiAlign>(a));
}

Status import_max(ImportContext& ctx) {
  attrs::MaxRoiPoolT a;
  const std::vector<int64_t> pooled = ctx.attr_ints("pooled_shape");
  if (pooled.size() != 2) return ctx.fail(Status::kInvalidModel, "pooled_shape has to be two numbers");
  a.pooled_height = saturated_int32(pooled[0]);
  a.pooled_width = saturated_int32(pooled[1]);
  a.spatial_scale = ctx.attr_float("spatial_scale", 1);
  return import_direct(ctx, Op::kMaxRoiPool, pack<attrs::MaxRoiPool>(a));
}

}  // namespace

extern const OnnxImport kRoiAlignOnnx;
extern const OnnxImport kMaxRoiPoolOnnx;
const OnnxImport kRoiAlignOnnx = {"", "RoiAlign", import_align};
const OnnxImport kMaxRoiPoolOnnx = {"", "MaxRoiPool", import_max};

Status export_roi(ExportContext& ctx) {
  if (ctx.op() == Op::kMaxRoiPool) {
    const auto& a = ctx.attrs<attrs::MaxRoiPool>();
    OnnxNode n = ctx.same().set("pooled_shape", std::vector<int64_t>{a.pooled_height(), a.pooled_width()});
    return ctx.done(n.real("spatial_scale", a.spatial_scale()));
  }
  const auto& a = ctx.attrs<attrs::RoiAlign>();
  OnnxNode n = ctx.same().number("output_height", a.output_height()).number("output_width", a.output_width());
  n.number("sampling_ratio", a.sampling_ratio()).real("spatial_scale", a.spatial_scale());
  n.text("mode", a.max() ? "max" : "avg");
  return ctx.done(n.text("coordinate_transformation_mode", a.half_pixel() ? "half_pixel" : "output_half_pixel"));
}

}  // namespace vireo
