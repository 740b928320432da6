#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_gather(ImportContext& ctx) {
  attrs::GatherT a;
  a.axis = ctx.attr_int32("axis", 0);
  return import_direct(ctx, Op::kGather, pack<attrs::Gather>(a));
}

Status import_elements(ImportContext& ctx) {
  attrs::GatherElementsT a;
  a.axis = ctx.attr_int32("axis", 0);
  return import_direct(ctx, Op::kGatherElements, pack<attrs::GatherElements>(a));
}

Status import_nd(ImportContext& ctx) {
  attrs::GatherNDT a;
  a.batch_dims = ctx.attr_int32("batch_dims", 0);
  return import_direct(ctx, Op::kGatherND, pack<attrs::GatherND>(a));
}

}  // namespace

extern const OnnxImport kGatherOnnx;
extern const OnnxImport kGatherElementsOnnx;
extern const OnnxImport kGatherNDOnnx;
const OnnxImport kGatherOnnx = {"", "Gather", import_gather};
const OnnxImport kGatherElementsOnnx = {"", "GatherElements", import_elements};
const OnnxImport kGatherNDOnnx = {"", "GatherND", import_nd};

Status export_gather(ExportContext& ctx) {
  if (ctx.op() == Op::kGatherND)
    return ctx.done(ctx.same().number("batch_dims", ctx.attrs<attrs::GatherND>().batch_dims()));
  const bool elements = ctx.op() == Op::kGatherElements;
  return ctx.done(ctx.same().number(
      "axis", elements ? ctx.attrs<attrs::GatherElements>().axis() : ctx.attrs<attrs::Gather>().axis()));
}

}  // namespace vireo
