#include "sdk/ops/shape_of/shape_of_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_shape(ImportContext& ctx) {
  attrs::ShapeT a;
  a.start = ctx.attr_int("start", 0);
  a.end = ctx.attr_int("end", INT64_MAX);
  return import_direct(ctx, Op::kShape, pack<attrs::Shape>(a));
}

Status import_size(ImportContext& ctx) { return import_direct(ctx, Op::kSize, pack<attrs::Size>(attrs::SizeT{})); }

}  // namespace

extern const OnnxImport kShapeOnnx;
extern const OnnxImport kSizeOnnx;
const OnnxImport kShapeOnnx = {"", "Shape", import_shape};
const OnnxImport kSizeOnnx = {"", "Size", import_size};

Status export_shape_of(ExportContext& ctx) {
  OnnxNode n = ctx.same();
  if (ctx.op() == Op::kSize) return ctx.done(std::move(n));
  const auto& a = ctx.attrs<attrs::Shape>();
  if (a.start() != 0) n.number("start", a.start());
  if (a.end() != INT64_MAX) n.number("end", a.end());
  return ctx.done(std::move(n));
}

}  // namespace vireo
