// k was an attribute in opset 1, when only the largest could be asked for.
#include "sdk/ops/shared/strict_export.h"
#include "sdk/ops/top_k/top_k_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_top_k(ImportContext& ctx) {
  attrs::TopKT a;
  a.axis = ctx.attr_int32("axis", -1);
  a.largest = ctx.attr_int("largest", 1) != 0;
  a.sorted = ctx.attr_int("sorted", 1) != 0;
  if (ctx.opset() >= 10) return import_direct(ctx, Op::kTopK, pack<attrs::TopK>(a));
  const std::vector<Value> y = ctx.emit(Op::kTopK, pack<attrs::TopK>(a),
                                        {ctx.input(0), ctx.add_i64({ctx.attr_int("k", -1)})}, ctx.output_count());
  if (y.empty()) return Status::kInvalidModel;
  for (int i = 0; i < ctx.output_count(); ++i) ctx.set_output(i, y[static_cast<size_t>(i)]);
  return Status::kOk;
}

}  // namespace

extern const OnnxImport kTopKOnnx;
const OnnxImport kTopKOnnx = {"", "TopK", import_top_k};

Status export_top_k(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::TopK>();
  OnnxNode n = ctx.same().number("axis", a.axis()).flag("largest", a.largest()).flag("sorted", a.sorted());
  n.inputs[1] = list_of_one(ctx, 1);
  name_outputs(ctx, 2, &n);
  return ctx.done(std::move(n));
}

}  // namespace vireo
