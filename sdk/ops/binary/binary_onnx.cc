// Opset 7 brought NumPy's broadcasting. Before, the second operand was placed at `axis` of the first: ones appended to
// its shape say the same. Greater is Less with its operands exchanged; And, Or and Xor are the bitwise operators on
// bool; Min, Max, Sum and Mean of many operands are chains of two.
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/shared/old_broadcast.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

std::vector<uint8_t> no_attrs() { return pack<attrs::Binary>(attrs::BinaryT{}); }

template <Op kOp>
Status direct(ImportContext& ctx) {
  Value b;
  VIREO_TRY(old_broadcast(ctx, &b));
  return import_as(ctx, kOp, no_attrs(), {ctx.input(0), b});
}

// y = a > b is b < a.
template <Op kOp>
Status exchanged(ImportContext& ctx) {
  Value b;
  VIREO_TRY(old_broadcast(ctx, &b));
  return import_as(ctx, kOp, no_attrs(), {b, ctx.input(0)});
}

Status mod(ImportContext& ctx) {
  attrs::ModT a;
  a.truncated = ctx.attr_int("fmod", 0) != 0;
  return import_direct(ctx, Op::kMod, pack<attrs::Mod>(a));
}

Status shift(ImportContext& ctx) {
  const std::string direction = ctx.attr_string("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return ctx.fail(Status::kInvalidModel, "direction is \"" + direction + "\", wanted \"LEFT\" or \"RIGHT\"");
  }
  attrs::BitShiftT a;
  a.right = direction == "RIGHT";
  return import_direct(ctx, Op::kBitShift, pack<attrs::BitShift>(a));
}

// Until opset 6 a slope of one dimension belongs to the channels, dimension 1.
Status prelu(ImportContext& ctx) {
  Value slope = ctx.input(1);
  const int rank = ctx.type(ctx.input(0)).shape.rank;
  const Shape s = ctx.type(slope).shape;
  if (ctx.opset() < 7 && s.rank == 1 && s[0] != 1 && rank > 2) slope = append_ones(ctx, slope, rank - 2);
  if (!slope) return Status::kInvalidModel;
  return import_as(ctx, Op::kPRelu, no_attrs(), {ctx.input(0), slope});
}

// op(op(x0, x1), x2)...; one operand is its own result.
Value chain(ImportContext& ctx, Op op) {
  Value y = ctx.input(0);
  for (int i = 1; y && i < ctx.input_count(); ++i) y = ctx.emit1(op, no_attrs(), {y, ctx.input(i)});
  return y;
}

template <Op kOp>
Status variadic(ImportContext& ctx) {
  if (ctx.input_count() == 0) return ctx.fail(Status::kInvalidModel, "no operand");
  return import_value(ctx, chain(ctx, kOp));
}

Status mean(ImportContext& ctx) {
  if (ctx.input_count() == 0) return ctx.fail(Status::kInvalidModel, "no operand");
  const Value sum = chain(ctx, Op::kAdd);
  if (!sum || ctx.input_count() == 1) return import_value(ctx, sum);
  const Value count = add_scalar(ctx, ctx.type(sum).dtype, ctx.input_count());
  return count ? import_as(ctx, Op::kDiv, no_attrs(), {sum, count}) : Status::kInvalidModel;
}

}  // namespace

extern const OnnxImport kAddOnnx;
extern const OnnxImport kSubOnnx;
extern const OnnxImport kMulOnnx;
extern const OnnxImport kDivOnnx;
extern const OnnxImport kPowOnnx;
extern const OnnxImport kModOnnx;
extern const OnnxImport kMinOnnx;
extern const OnnxImport kMaxOnnx;
extern const OnnxImport kEqualOnnx;
extern const OnnxImport kLessOnnx;
extern const OnnxImport kLessOrEqualOnnx;
extern const OnnxImport kBitShiftOnnx;
extern const OnnxImport kBitwiseAndOnnx;
extern const OnnxImport kBitwiseOrOnnx;
extern const OnnxImport kBitwiseXorOnnx;
extern const OnnxImport kPReluOnnx;
extern const OnnxImport kGreaterOnnx;
extern const OnnxImport kGreaterOrEqualOnnx;
extern const OnnxImport kAndOnnx;
extern const OnnxImport kOrOnnx;
extern const OnnxImport kXorOnnx;
extern const OnnxImport kSumOnnx;
extern const OnnxImport kMeanOnnx;

const OnnxImport kAddOnnx = {"", "Add", direct<Op::kAdd>};
const OnnxImport kSubOnnx = {"", "Sub", direct<Op::kSub>};
const OnnxImport kMulOnnx = {"", "Mul", direct<Op::kMul>};
const OnnxImport kDivOnnx = {"", "Div", direct<Op::kDiv>};
const OnnxImport kPowOnnx = {"", "Pow", direct<Op::kPow>};
const OnnxImport kModOnnx = {"", "Mod", mod};
const OnnxImport kMinOnnx = {"", "Min", variadic<Op::kMin>};
const OnnxImport kMaxOnnx = {"", "Max", variadic<Op::kMax>};
const OnnxImport kEqualOnnx = {"", "Equal", direct<Op::kEqual>};
const OnnxImport kLessOnnx = {"", "Less", direct<Op::kLess>};
const OnnxImport kLessOrEqualOnnx = {"", "LessOrEqual", direct<Op::kLessOrEqual>};
const OnnxImport kBitShiftOnnx = {"", "BitShift", shift};
const OnnxImport kBitwiseAndOnnx = {"", "BitwiseAnd", direct<Op::kBitwiseAnd>};
const OnnxImport kBitwiseOrOnnx = {"", "BitwiseOr", direct<Op::kBitwiseOr>};
const OnnxImport kBitwiseXorOnnx = {"", "BitwiseXor", direct<Op::kBitwiseXor>};
const OnnxImport kPReluOnnx = {"", "PRelu", prelu};
const OnnxImport kGreaterOnnx = {"", "Greater", exchanged<Op::kLess>};
const OnnxImport kGreaterOrEqualOnnx = {"", "GreaterOrEqual", exchanged<Op::kLessOrEqual>};
const OnnxImport kAndOnnx = {"", "And", direct<Op::kBitwiseAnd>};
const OnnxImport kOrOnnx = {"", "Or", direct<Op::kBitwiseOr>};
const OnnxImport kXorOnnx = {"", "Xor", direct<Op::kBitwiseXor>};
const OnnxImport kSumOnnx = {"", "Sum", variadic<Op::kAdd>};
const OnnxImport kMeanOnnx = {"", "Mean", mean};

// The bitwise operators on bool have names of their own.
namespace {

// Mod of real numbers with the divisor's sign, which ONNX has since opset 28 only: the truncated remainder, and the
// divisor more where their signs differ.
Status export_floored(ExportContext& ctx) {
  OnnxNode mod = ExportContext::node("Mod", {ctx.input(0), ctx.input(1)});
  const std::string rest = ctx.step(std::move(mod.flag("fmod", true)));
  const std::string zero = ctx.add_scalar(ctx.input_type(0).dtype, 0);
  const std::string some = ctx.step("Not", {ctx.step("Equal", {rest, zero})});
  const std::string differ = ctx.step("Xor", {ctx.step("Less", {rest, zero}), ctx.step("Less", {ctx.input(1), zero})});
  const std::string sum = ctx.step("Add", {rest, ctx.input(1)});
  return ctx.finish("Where", {ctx.step("And", {some, differ}), sum, rest});
}

}  // namespace

Status export_binary(ExportContext& ctx) {
  const bool boolean = ctx.input_type(0).dtype == DType::kBool;
  // Between Casts, which give the same bits: few runtimes multiply bfloat16.
  if (ctx.op() == Op::kMul && ctx.input_type(0).dtype == DType::kBF16 && ctx.input_type(1).dtype == DType::kBF16) {
    const std::string a = ctx.cast(ctx.input(0), DType::kF32), b = ctx.cast(ctx.input(1), DType::kF32);
    return ctx.finish(ctx.cast_node(ctx.step("Mul", {a, b}), DType::kBF16));
  }
  switch (ctx.op()) {
    case Op::kMod:
      if (dtype_is_float(ctx.input_type(0).dtype) && !ctx.attrs<attrs::Mod>().truncated()) return export_floored(ctx);
      return ctx.done(ctx.same().flag("fmod", ctx.attrs<attrs::Mod>().truncated()));
    case Op::kBitShift:
      return ctx.done(ctx.same().text("direction", ctx.attrs<attrs::BitShift>().right() ? "RIGHT" : "LEFT"));
    case Op::kBitwiseAnd:
      return ctx.done(ctx.same(boolean ? "And" : ""));
    case Op::kBitwiseOr:
      return ctx.done(ctx.same(boolean ? "Or" : ""));
    case Op::kBitwiseXor:
      return ctx.done(ctx.same(boolean ? "Xor" : ""));
    default:
      return ctx.done(ctx.same());
  }
}

}  // namespace vireo
