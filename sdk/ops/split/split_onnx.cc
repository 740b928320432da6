// The parts' sizes: an input (of the data's type) or an attribute in opset 1, an attribute from 2, an input from 13.
#include <algorithm>

#include "sdk/ops/shared/steps_import.h"
#include "sdk/ops/split/split_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

constexpr int kMostParts = 65536;  // that are named, one output each

Status import_split(ImportContext& ctx) {
  attrs::SplitT a;
  a.axis = ctx.attr_int32("axis", 0);
  const int64_t parts = ctx.attr_int("num_outputs", ctx.output_count());
  if (parts < 0 || parts > INT32_MAX) return ctx.fail(Status::kInvalidModel, "num_outputs is " + std::to_string(parts));
  a.num_outputs = static_cast<int32_t>(parts);
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
const OnnxImport kSplitOnnx = {"", "Split", import_split};

Status export_split(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Split>();
  OnnxNode n = ctx.same().number("axis", a.axis());
  // An output that nobody wants is a part all the same, also behind those that are.
  const Shape sizes = ctx.input_type(1).shape;
  int64_t parts = a.num_outputs();
  if (!ctx.input(1).empty()) parts = sizes.rank != 1 || is_symbolic(sizes[0]) ? 0 : sizes[0];
  parts = std::max<int64_t>(parts, ctx.output_count());
  if (parts > kMostParts) return ctx.fail(Status::kUnsupported, "a split into " + std::to_string(parts) + " parts");
  n.outputs.clear();
  for (int i = 0; i < parts; ++i) n.outputs.push_back(ctx.output(i).empty() ? ctx.fresh("unused") : ctx.output(i));
  if (ctx.input(1).empty()) n.number("num_outputs", parts);
  return ctx.done(std::move(n));
}

}  // namespace vireo
