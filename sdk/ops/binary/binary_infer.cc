// Elementwise functions of two operands.
//   a, b     shapes that broadcast to one; one dtype (Pow: the exponent has its own)
//   y        the broadcast shape; the dtype of a (Equal, Less, LessOrEqual: bool). PRelu: the shape of a
//   alias    y may be a or b (not Equal, Less, LessOrEqual; Pow: a alone; PRelu: a alone);  scratch none
//   error    kInvalidArgument where an integer is divided by zero
// Source: ONNX opset 28, one section per operator. And, Or and Xor are the bitwise operators on bool.
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

template <TypeSet kTypes>
Status infer_binary(InferContext& ctx) {
  VIREO_TRY(check_type(ctx, 0, kTypes));
  VIREO_TRY(check_same_type(ctx, 0, 1));
  ctx.output(0).dtype = ctx.input(0).dtype;
  return broadcast(ctx, ctx.input(0).shape, ctx.input(1).shape, &ctx.output(0).shape);
}

template <TypeSet kTypes>
Status infer_compare(InferContext& ctx) {
  VIREO_TRY(infer_binary<kTypes>(ctx));
  ctx.output(0).dtype = DType::kBool;
  return Status::kOk;
}

Status infer_pow(InferContext& ctx) {
  VIREO_TRY(check_type(ctx, 0, kNumberSet));
  VIREO_TRY(check_type(ctx, 1, kNumberSet));
  ctx.output(0).dtype = ctx.input(0).dtype;
  return broadcast(ctx, ctx.input(0).shape, ctx.input(1).shape, &ctx.output(0).shape);
}

Status infer_prelu(InferContext& ctx) {
  const Shape& x = ctx.input(0).shape;
  VIREO_TRY(infer_binary<kNumberSet>(ctx));
  Shape& y = ctx.output(0).shape;
  bool same = y.rank == x.rank;
  for (int i = 0; same && i < x.rank; ++i) same = !ctx.differ(y[i], x[i]);
  if (!same) {
    return ctx.fail(Status::kInvalidModel, "slope {} does not broadcast to the input {}", ctx.input(1).shape, x);
  }
  y = x;
  return Status::kOk;
}

constexpr uint32_t kEither = 3, kFirst = 1;

template <class Table = attrs::Binary>
constexpr OpDef row(const char* name, Status (*f)(InferContext&), uint32_t inplace = kEither) {
  return {name, verify_attrs<Table>, f, 2, 2, 1, 1, OpDef::kPure, inplace};
}

}  // namespace

extern const OpDef kAddOp;
extern const OpDef kSubOp;
extern const OpDef kMulOp;
extern const OpDef kDivOp;
extern const OpDef kPowOp;
extern const OpDef kModOp;
extern const OpDef kMinOp;
extern const OpDef kMaxOp;
extern const OpDef kEqualOp;
extern const OpDef kLessOp;
extern const OpDef kLessOrEqualOp;
extern const OpDef kBitShiftOp;
extern const OpDef kBitwiseAndOp;
extern const OpDef kBitwiseOrOp;
extern const OpDef kBitwiseXorOp;
extern const OpDef kPReluOp;

const OpDef kAddOp = row("Add", infer_binary<kNumberSet>);
const OpDef kSubOp = row("Sub", infer_binary<kNumberSet>);
const OpDef kMulOp = row("Mul", infer_binary<kNumberSet>);
const OpDef kDivOp = row("Div", infer_binary<kNumberSet>);
const OpDef kPowOp = row("Pow", infer_pow, kFirst);
const OpDef kModOp = row<attrs::Mod>("Mod", infer_binary<kNumberSet>);
const OpDef kMinOp = row("Min", infer_binary<kNumberSet>);
const OpDef kMaxOp = row("Max", infer_binary<kNumberSet>);
// An operand of the output's bytes need not have its shape: int64[1] against bool[8].
const OpDef kEqualOp = row("Equal", infer_compare<kNumberSet | kBoolSet | kStringSet>, 0);
const OpDef kLessOp = row("Less", infer_compare<kNumberSet>, 0);
const OpDef kLessOrEqualOp = row("LessOrEqual", infer_compare<kNumberSet>, 0);
const OpDef kBitShiftOp = row<attrs::BitShift>("BitShift", infer_binary<kIntegerSet>);
const OpDef kBitwiseAndOp = row("BitwiseAnd", infer_binary<kIntegerSet | kBoolSet>);
const OpDef kBitwiseOrOp = row("BitwiseOr", infer_binary<kIntegerSet | kBoolSet>);
const OpDef kBitwiseXorOp = row("BitwiseXor", infer_binary<kIntegerSet | kBoolSet>);
const OpDef kPReluOp = row("PRelu", infer_prelu, kFirst);

}  // namespace vireo
