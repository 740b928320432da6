// Elementwise functions of one operand.
//   x        any shape; the types are in the rows below (ONNX's, whole-byte)
//   y        shape and dtype of x; IsNaN and IsInf: bool
//   alias    y may be x;  scratch none
// Source: ONNX opset 28, one section per operator.
#include "sdk/ops/shared/infer.h"
#include "sdk/ops/unary/unary_generated.h"

namespace vireo {
namespace {

constexpr TypeSet kFloat8Set =
    type_set(DType::kF8E4M3FN) | type_set(DType::kF8E4M3FNUZ) | type_set(DType::kF8E5M2) | type_set(DType::kF8E5M2FNUZ);

template <TypeSet kTypes>
Status infer_unary(InferContext& ctx) {
  VIREO_TRY(check_type(ctx, 0, kTypes));
  return infer_same(ctx);
}

Status infer_test(InferContext& ctx) {
  VIREO_TRY(check_type(ctx, 0, kFloatSet | kFloat8Set));
  ctx.output(0) = {DType::kBool, ctx.input(0).shape};
  return Status::kOk;
}

Status infer_elu(InferContext& ctx) {
  if (ctx.attrs<attrs::Elu>().divisor() == 0) return ctx.fail(Status::kInvalidModel, "the divisor is 0");
  return infer_unary<kFloatSet>(ctx);
}

Status infer_gelu(InferContext& ctx) {
  if (ctx.attrs<attrs::Gelu>().form() > attrs::GeluForm::MAX) {
    return ctx.fail(Status::kInvalidModel, "unknown form of Gelu");
  }
  return infer_unary<kFloatSet>(ctx);
}

template <class Table>
constexpr OpDef row(const char* name, Status (*f)(InferContext&)) {
  return {name, verify_attrs<Table>, f, 1, 1, 1, 1, OpDef::kPure, /*inplace=*/1};
}
constexpr OpDef float_row(const char* name) { return row<attrs::Unary>(name, infer_unary<kFloatSet>); }

}  // namespace

extern const OpDef kAbsOp;
extern const OpDef kNegOp;
extern const OpDef kSqrtOp;
extern const OpDef kExpOp;
extern const OpDef kLogOp;
extern const OpDef kSinOp;
extern const OpDef kCosOp;
extern const OpDef kTanOp;
extern const OpDef kAsinOp;
extern const OpDef kAcosOp;
extern const OpDef kAtanOp;
extern const OpDef kSinhOp;
extern const OpDef kCoshOp;
extern const OpDef kAsinhOp;
extern const OpDef kAcoshOp;
extern const OpDef kAtanhOp;
extern const OpDef kTanhOp;
extern const OpDef kSigmoidOp;
extern const OpDef kReluOp;
extern const OpDef kLeakyReluOp;
extern const OpDef kEluOp;
extern const OpDef kHardSigmoidOp;
extern const OpDef kHardSwishOp;
extern const OpDef kSoftplusOp;
extern const OpDef kGeluOp;
extern const OpDef kErfOp;
extern const OpDef kFloorOp;
extern const OpDef kCeilOp;
extern const OpDef kRoundOp;
extern const OpDef kSignOp;
extern const OpDef kNotOp;
extern const OpDef kIsNaNOp;
extern const OpDef kIsInfOp;
extern const OpDef kMishOp;
extern const OpDef kSwishOp;
extern const OpDef kShrinkOp;

const OpDef kAbsOp = row<attrs::Unary>("Abs", infer_unary<kNumberSet>);
const OpDef kNegOp = row<attrs::Unary>("Neg", infer_unary<kFloatSet | kSignedSet>);
const OpDef kSqrtOp = float_row("Sqrt");
const OpDef kExpOp = float_row("Exp");
const OpDef kLogOp = float_row("Log");
const OpDef kSinOp = float_row("Sin");
const OpDef kCosOp = float_row("Cos");
const OpDef kTanOp = float_row("Tan");
const OpDef kAsinOp = float_row("Asin");
const OpDef kAcosOp = float_row("Acos");
const OpDef kAtanOp = float_row("Atan");
const OpDef kSinhOp = float_row("Sinh");
const OpDef kCoshOp = float_row("Cosh");
const OpDef kAsinhOp = float_row("Asinh");
const OpDef kAcoshOp = float_row("Acosh");
const OpDef kAtanhOp = float_row("Atanh");
const OpDef kTanhOp = float_row("Tanh");
const OpDef kSigmoidOp = float_row("Sigmoid");
const OpDef kReluOp = row<attrs::Unary>("Relu", infer_unary<kFloatSet | kSignedSet>);
const OpDef kLeakyReluOp = row<attrs::LeakyRelu>("LeakyRelu", infer_unary<kFloatSet>);
const OpDef kEluOp = row<attrs::Elu>("Elu", infer_elu);
const OpDef kHardSigmoidOp = row<attrs::HardSigmoid>("HardSigmoid", infer_unary<kFloatSet>);
const OpDef kHardSwishOp = float_row("HardSwish");
const OpDef kSoftplusOp = float_row("Softplus");
const OpDef kGeluOp = row<attrs::Gelu>("Gelu", infer_gelu);
const OpDef kErfOp = float_row("Erf");
const OpDef kFloorOp = float_row("Floor");
const OpDef kCeilOp = float_row("Ceil");
const OpDef kRoundOp = float_row("Round");
const OpDef kSignOp = row<attrs::Unary>("Sign", infer_unary<kNumberSet>);
const OpDef kNotOp = row<attrs::Unary>("Not", infer_unary<kBoolSet>);
const OpDef kIsNaNOp = row<attrs::Unary>("IsNaN", infer_test);
const OpDef kIsInfOp = row<attrs::IsInf>("IsInf", infer_test);
const OpDef kMishOp = float_row("Mish");
const OpDef kSwishOp = row<attrs::Swish>("Swish", infer_unary<kFloatSet>);
const OpDef kShrinkOp = row<attrs::Shrink>("Shrink", infer_unary<kNumberSet>);

}  // namespace vireo
