// The parts' sizes: an input or an attribute in opset 1, an attribute from 2, an input from 13.
#include "sdk/ops/split/split_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

Status import(ImportContext& ctx) {
  attrs::SplitT a;
  a.axis = static_cast<int32_t>(ctx.attr_int("axis", 0));
  a.num_outputs = static_cast<int32_t>(ctx.attr_int("num_outputs", ctx.output_count()));
  if (ctx.opset() >= 13 || !ctx.has_attr("split")) return import_direct(ctx, Op::kSplit, pack<attrs::Split>(a));
  const std::vector<Value> y = ctx.emit(Op::kSplit, pack<attrs::Split>(a),
                                        {ctx.input(0), ctx.add_i64(ctx.attr_ints("split"))}, ctx.output_count());
  if (y.empty()) return Status::kInvalidModel;
  for (int i = 0; i < ctx.output_count(); ++i) ctx.set_output(i, y[static_cast<size_t>(i)]);
  return Status::kOk;
}

}  // namespace

extern const OnnxImport kSplitOnnx;
const OnnxImport kSplitOnnx = {"", "Split", import};

}  // namespace vireo
