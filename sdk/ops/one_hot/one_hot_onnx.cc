#include "sdk/ops/one_hot/one_hot_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_one_hot(ImportContext& ctx) {
  attrs::OneHotT a;
  a.axis = ctx.attr_int32("axis", -1);
  return import_direct(ctx, Op::kOneHot, pack<attrs::OneHot>(a));
}

}  // namespace

extern const OnnxImport kOneHotOnnx;
const OnnxImport kOneHotOnnx = {"", "OneHot", import_one_hot};

Status export_one_hot(ExportContext& ctx) {
  return ctx.done(ctx.same().number("axis", ctx.attrs<attrs::OneHot>().axis()));
}

}  // namespace vireo
