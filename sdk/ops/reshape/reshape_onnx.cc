// Reshape has taken its shape as an input since opset 5, Squeeze and Unsqueeze their axes since opset 13; before, they
// were attributes.
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status emit_with_list(ImportContext& ctx, Op op, std::vector<uint8_t> attrs, const std::vector<int64_t>& list) {
  const Value y = ctx.emit1(op, std::move(attrs), {ctx.input(0), ctx.add_i64(list)});
  if (!y) return Status::kInvalidModel;
  ctx.set_output(0, y);
  return Status::kOk;
}

Status import_reshape(ImportContext& ctx) {
  attrs::ReshapeT a;
  if (ctx.opset() < 5) return emit_with_list(ctx, Op::kReshape, pack<attrs::Reshape>(a), ctx.attr_ints("shape"));
  a.allowzero = ctx.attr_int("allowzero", 0) != 0;
  // Where only a run knows how long the shape is, the result has the rank that the file says it has. A reshape of the
  // list to that length makes the run check it.
  const TensorType list = ctx.type(ctx.input(1));
  const int rank = ctx.declared_rank(0);
  if (ctx.input(0) && ctx.input(1) && list.shape.rank == 1 && is_symbolic(list.shape[0]) && rank >= 0) {
    const Value shape =
        ctx.emit1(Op::kReshape, pack<attrs::Reshape>(attrs::ReshapeT{}), {ctx.input(1), ctx.add_i64({rank})});
    const Value y = shape ? ctx.emit1(Op::kReshape, pack<attrs::Reshape>(a), {ctx.input(0), shape}) : shape;
    if (!y) return Status::kInvalidModel;
    ctx.set_output(0, y);
    return Status::kOk;
  }
  return import_direct(ctx, Op::kReshape, pack<attrs::Reshape>(a));
}

Status import_squeeze(ImportContext& ctx) {
  std::vector<uint8_t> a = pack<attrs::Squeeze>(attrs::SqueezeT{});
  if (ctx.opset() >= 13 && ctx.input(1)) return import_direct(ctx, Op::kSqueeze, std::move(a));
  if (ctx.opset() < 13 && ctx.has_attr("axes")) {
    return emit_with_list(ctx, Op::kSqueeze, std::move(a), ctx.attr_ints("axes"));
  }
  // Without axes every extent of 1 goes, so the rank of a result depends on extents that only a run knows. Whether they
  // stay is decided here: by the declared rank where it can only mean one of both.
  std::vector<int64_t> axes, all;
  std::vector<Dim> open;
  const TensorType x = ctx.type(ctx.input(0));
  for (int i = 0; i < x.shape.rank; ++i) {
    const bool one = ctx.equal(x.shape[i], 1);
    if (one) axes.push_back(i);
    if (one || !ctx.differ(x.shape[i], 1)) all.push_back(i);
    if (all.size() > axes.size() + open.size()) open.push_back(x.shape[i]);
  }
  if (all.size() > axes.size()) {
    const int declared = ctx.declared_rank(0);
    const bool drop = declared < 0 ? ctx.unknown_is_one() : declared == x.shape.rank - static_cast<int>(all.size());
    if (drop) axes = all;
    ctx.assume_extents(
        open, drop,
        std::string("without axes it drops every extent of 1: those that are not known here are taken to be ") +
            (drop ? "1, as the declared shapes say" : "larger and stay"),
        "give the inputs' shapes (--shape) so that they are known");
  }
  return emit_with_list(ctx, Op::kSqueeze, std::move(a), axes);
}

Status import_unsqueeze(ImportContext& ctx) {
  std::vector<uint8_t> a = pack<attrs::Unsqueeze>(attrs::UnsqueezeT{});
  if (ctx.opset() < 13) return emit_with_list(ctx, Op::kUnsqueeze, std::move(a), ctx.attr_ints("axes"));
  return import_direct(ctx, Op::kUnsqueeze, std::move(a));
}

Status import_flatten(ImportContext& ctx) {
  attrs::FlattenT a;
  a.axis = ctx.attr_int32("axis", 1);
  return import_direct(ctx, Op::kFlatten, pack<attrs::Flatten>(a));
}

}  // namespace

extern const OnnxImport kReshapeOnnx;
extern const OnnxImport kSqueezeOnnx;
extern const OnnxImport kUnsqueezeOnnx;
extern const OnnxImport kFlattenOnnx;
const OnnxImport kReshapeOnnx = {"", "Reshape", import_reshape};
const OnnxImport kSqueezeOnnx = {"", "Squeeze", import_squeeze};
const OnnxImport kUnsqueezeOnnx = {"", "Unsqueeze", import_unsqueeze};
const OnnxImport kFlattenOnnx = {"", "Flatten", import_flatten};

// A Squeeze without axes would drop every extent of 1; ours with an empty list drops none.
Status export_reshape(ExportContext& ctx) {
  const Op op = ctx.op();
  if (op == Op::kReshape) return ctx.done(ctx.same().flag("allowzero", ctx.attrs<attrs::Reshape>().allowzero()));
  if (op == Op::kFlatten) return ctx.done(ctx.same().number("axis", ctx.attrs<attrs::Flatten>().axis()));
  if (ctx.input_type(1).shape.rank == 1 && ctx.input_type(1).shape[0] == 0)
    return ctx.finish("Identity", {ctx.input(0)});
  return ctx.done(ctx.same());
}

}  // namespace vireo
