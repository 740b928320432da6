#include "sdk/ops/unique/unique_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_unique(ImportContext& ctx) {
  attrs::UniqueT a;
  a.flat = !ctx.has_attr("axis");
  a.axis = ctx.attr_int32("axis", 0);
  a.sorted = ctx.attr_int("sorted", 1) != 0;
  return import_direct(ctx, Op::kUnique, pack<attrs::Unique>(a));
}

}  // namespace

extern const OnnxImport kUniqueOnnx;
const OnnxImport kUniqueOnnx = {"", "Unique", import_unique};

Status export_unique(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Unique>();
  OnnxNode n = ctx.same().flag("sorted", a.sorted());
  if (!a.flat()) n.number("axis", a.axis());
  return ctx.done(std::move(n));
}

}  // namespace vireo
