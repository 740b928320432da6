// Opset 13 (ReduceSum) and 18 (the others) turned the attribute `axes` into an input.
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

std::vector<Value> operands(ImportContext& ctx, int axes_since) {
  std::vector<Value> v = {ctx.input(0)};
  if (ctx.opset() >= axes_since) {
    if (ctx.input(1)) v.push_back(ctx.input(1));
  } else if (ctx.has_attr("axes")) {
    v.push_back(ctx.add_i64(ctx.attr_ints("axes")));
  }
  return v;
}

template <Op kOp, int kAxesSince>
Status reduce(ImportContext& ctx) {
  attrs::ReduceT a;
  a.keepdims = ctx.attr_int("keepdims", 1) != 0;
  a.noop_with_empty_axes = ctx.attr_int("noop_with_empty_axes", 0) != 0;
  return import_as(ctx, kOp, pack<attrs::Reduce>(a), operands(ctx, kAxesSince));
}

template <attrs::Norm kNorm>
Status norm(ImportContext& ctx) {
  attrs::ReduceNormT a;
  a.keepdims = ctx.attr_int("keepdims", 1) != 0;
  a.noop_with_empty_axes = ctx.attr_int("noop_with_empty_axes", 0) != 0;
  a.norm = kNorm;
  return import_as(ctx, Op::kReduceNorm, pack<attrs::ReduceNorm>(a), operands(ctx, 18));
}

// Of integers, which have logarithms too: taken in float64 and cut off towards zero, as Cast does it.
template <attrs::Norm kNorm>
Status logarithm(ImportContext& ctx) {
  const DType type = ctx.type(ctx.input(0)).dtype;
  if (!dtype_is_integer(type)) return norm<kNorm>(ctx);
  attrs::ReduceNormT a;
  a.keepdims = ctx.attr_int("keepdims", 1) != 0;
  a.noop_with_empty_axes = ctx.attr_int("noop_with_empty_axes", 0) != 0;
  a.norm = kNorm;
  attrs::CastT wide, back;
  wide.to = static_cast<uint8_t>(DType::kF64);
  back.to = static_cast<uint8_t>(type);
  std::vector<Value> inputs = operands(ctx, 18);
  inputs[0] = ctx.emit1(Op::kCast, pack<attrs::Cast>(wide), {inputs[0]});
  if (!inputs[0]) return Status::kInvalidModel;
  const Value y = ctx.emit1(Op::kReduceNorm, pack<attrs::ReduceNorm>(a), inputs);
  if (!y) return Status::kInvalidModel;
  return import_as(ctx, Op::kCast, pack<attrs::Cast>(back), {y});
}

// Ours alone: no ONNX operator has this name.
Status reduce_norm(ImportContext& ctx) {
  return ctx.fail(Status::kInvalidModel, "ReduceNorm is not an operator of ONNX",
                  "use ReduceL1, ReduceL2, ReduceSumSquare, ReduceLogSum or ReduceLogSumExp");
}

}  // namespace

extern const OnnxImport kReduceSumOnnx;
extern const OnnxImport kReduceMeanOnnx;
extern const OnnxImport kReduceMaxOnnx;
extern const OnnxImport kReduceMinOnnx;
extern const OnnxImport kReduceProdOnnx;
extern const OnnxImport kReduceNormOnnx;
extern const OnnxImport kReduceL1Onnx;
extern const OnnxImport kReduceL2Onnx;
extern const OnnxImport kReduceSumSquareOnnx;
extern const OnnxImport kReduceLogSumOnnx;
extern const OnnxImport kReduceLogSumExpOnnx;

const OnnxImport kReduceSumOnnx = {"", "ReduceSum", reduce<Op::kReduceSum, 13>};
const OnnxImport kReduceMeanOnnx = {"", "ReduceMean", reduce<Op::kReduceMean, 18>};
const OnnxImport kReduceMaxOnnx = {"", "ReduceMax", reduce<Op::kReduceMax, 18>};
const OnnxImport kReduceMinOnnx = {"", "ReduceMin", reduce<Op::kReduceMin, 18>};
const OnnxImport kReduceProdOnnx = {"", "ReduceProd", reduce<Op::kReduceProd, 18>};
const OnnxImport kReduceNormOnnx = {"", "ReduceNorm", reduce_norm};
const OnnxImport kReduceL1Onnx = {"", "ReduceL1", norm<attrs::Norm::L1>};
const OnnxImport kReduceL2Onnx = {"", "ReduceL2", norm<attrs::Norm::L2>};
const OnnxImport kReduceSumSquareOnnx = {"", "ReduceSumSquare", norm<attrs::Norm::SumSquare>};
const OnnxImport kReduceLogSumOnnx = {"", "ReduceLogSum", logarithm<attrs::Norm::LogSum>};
const OnnxImport kReduceLogSumExpOnnx = {"", "ReduceLogSumExp", logarithm<attrs::Norm::LogSumExp>};

Status export_reduce(ExportContext& ctx) {
  const char* const norms[] = {"ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"};
  if (ctx.op() == Op::kReduceNorm) {
    const auto& a = ctx.attrs<attrs::ReduceNorm>();
    OnnxNode n = ctx.same(norms[static_cast<size_t>(a.norm())]).flag("keepdims", a.keepdims());
    return ctx.done(n.flag("noop_with_empty_axes", a.noop_with_empty_axes()));
  }
  const auto& a = ctx.attrs<attrs::Reduce>();
  OnnxNode n = ctx.same().flag("keepdims", a.keepdims());
  return ctx.done(n.flag("noop_with_empty_axes", a.noop_with_empty_axes()));
}

}  // namespace vireo
