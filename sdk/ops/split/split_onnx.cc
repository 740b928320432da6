// The parts' sizes: an input (of the data's type) or an attribute in opset 1, an attribute from 2, an input from 13.
#include "sdk/ops/split/split_generated.h"
#include "sdk/ops/steps_import.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import(ImportContext& ctx) {
  attrs::SplitT a;
  a.axis = static_cast<int32_t>(ctx.attr_int("axis", 0));
  a.num_outputs = static_cast<int32_t>(ctx.attr_int("num_outputs", ctx.output_count()));
  const bool by_attribute = ctx.opset() < 13 && ctx.has_attr("split");
  if (ctx.opset() >= 2 && !by_attribute) return import_direct(ctx, Op::kSplit, pack<attrs::Split>(a));
  Value sizes = ctx.input(1);
  if (by_attribute) {
    sizes = ctx.add_i64(ctx.attr_ints("split"));
  } else if (sizes) {
    sizes = Steps(ctx).cast(sizes, DType::kI64);
    if (!sizes) return Status::kInvalidModel;
  }
  std::vector<Value> inputs = {ctx.input(0)};
  if (sizes) inputs.push_back(sizes);
  const std::vector<Value> y = ctx.emit(Op::kSplit, pack<attrs::Split>(a), std::move(inputs), ctx.output_count());
  if (y.empty()) return Status::kInvalidModel;
  for (int i = 0; i < ctx.output_count(); ++i) ctx.set_output(i, y[static_cast<size_t>(i)]);
  return Status::kOk;
}

}  // namespace

extern const OnnxImport kSplitOnnx;
const OnnxImport kSplitOnnx = {"", "Split", import};

Status export_split(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Split>();
  OnnxNode n = ctx.same().number("axis", a.axis());
  n.outputs.clear();  // an output that nobody wants is a part all the same
  for (int i = 0; i < ctx.output_count(); ++i)
    n.outputs.push_back(ctx.output(i).empty() ? ctx.fresh("unused") : ctx.output(i));
  if (ctx.input(1).empty()) n.number("num_outputs", a.num_outputs() != 0 ? a.num_outputs() : ctx.output_count());
  return ctx.done(std::move(n));
}

}  // namespace vireo
