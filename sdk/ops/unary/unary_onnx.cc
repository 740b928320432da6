// Functions of one operand. No version changed a meaning: opset 6 dropped `consumed_inputs`, later ones added types.
// Selu and Celu are Elu with other constants; Reciprocal, Softsign, ThresholdedRelu and BitwiseNot become the operators
// that spell them.
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/shared/steps_import.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"
#include "sdk/ops/where/where_generated.h"

namespace vireo {
namespace {

std::vector<uint8_t> no_attrs() { return pack<attrs::Unary>(attrs::UnaryT{}); }
std::vector<uint8_t> binary_attrs() { return pack<attrs::Binary>(attrs::BinaryT{}); }
Value plain(ImportContext& ctx, Op op, Value x) { return ctx.emit1(op, no_attrs(), {x}); }
Value plain(ImportContext& ctx, Op op, Value a, Value b) { return ctx.emit1(op, binary_attrs(), {a, b}); }

template <Op kOp>
Status direct(ImportContext& ctx) {
  return import_direct(ctx, kOp, no_attrs());
}

// Of integers too (ONNX "Erf": all numbers), by way of float32, as ONNX's interpreter has it: from 4 on it is 1.
Status erf(ImportContext& ctx) {
  const DType type = ctx.type(ctx.input(0)).dtype;
  if (!dtype_is_integer(type)) return import_direct(ctx, Op::kErf, no_attrs());
  Steps steps(ctx);
  const Value y = steps.cast(steps.one(Op::kErf, no_attrs(), {steps.cast(ctx.input(0), DType::kF32)}), type);
  if (!y) return Status::kInvalidModel;
  ctx.set_output(0, y);
  return Status::kOk;
}

Status leaky_relu(ImportContext& ctx) {
  attrs::LeakyReluT a;
  a.alpha = ctx.attr_float("alpha", a.alpha);
  return import_direct(ctx, Op::kLeakyRelu, pack<attrs::LeakyRelu>(a));
}

Status elu(ImportContext& ctx) {
  attrs::EluT a;
  a.alpha = ctx.attr_float("alpha", 1.0f);
  return import_direct(ctx, Op::kElu, pack<attrs::Elu>(a));
}

// y = gamma * (x > 0 ? x : alpha * (exp(x) - 1)). The constants of opset 1 were rounded to 1.6732 and 1.0507.
Status selu(ImportContext& ctx) {
  attrs::EluT a;
  a.alpha = ctx.attr_float("alpha", ctx.opset() < 6 ? 1.6732f : 1.67326319217681884765625f);
  a.gamma = ctx.attr_float("gamma", ctx.opset() < 6 ? 1.0507f : 1.05070102214813232421875f);
  return import_direct(ctx, Op::kElu, pack<attrs::Elu>(a));
}

// y = max(0, x) + min(0, alpha * (exp(x / alpha) - 1)): for alpha > 0 the terms never meet. A negative alpha turns the
// second one to alpha * (exp(x / alpha) - 1) for x > 0 too, which nothing exports.
Status celu(ImportContext& ctx) {
  attrs::EluT a;
  a.alpha = ctx.attr_float("alpha", 1.0f);
  a.divisor = a.alpha;
  if (!(a.alpha > 0)) return ctx.fail(Status::kUnsupported, "alpha is not above 0", "export the model with alpha > 0");
  return import_direct(ctx, Op::kElu, pack<attrs::Elu>(a));
}

Status hard_sigmoid(ImportContext& ctx) {
  attrs::HardSigmoidT a;
  a.alpha = ctx.attr_float("alpha", a.alpha);
  a.beta = ctx.attr_float("beta", a.beta);
  return import_direct(ctx, Op::kHardSigmoid, pack<attrs::HardSigmoid>(a));
}

Status gelu(ImportContext& ctx) {
  attrs::GeluT a;
  const std::string form = ctx.attr_string("approximate", "none");
  if (form == "tanh") {
    a.form = attrs::GeluForm::Tanh;
  } else if (form != "none") {
    return ctx.fail(Status::kInvalidModel, "approximate is \"" + form + "\", wanted \"none\" or \"tanh\"");
  }
  return import_direct(ctx, Op::kGelu, pack<attrs::Gelu>(a));
}

// com.microsoft: BiasGelu(x, b) = Gelu(x + b) with erf; FastGelu(x, b?) with tanh; QuickGelu(x) = x * sigmoid(alpha *
// x).
template <attrs::GeluForm kForm>
Status bias_gelu(ImportContext& ctx) {
  attrs::GeluT a;
  a.form = kForm;
  Value x = ctx.input(0);
  if (ctx.input(1)) x = plain(ctx, Op::kAdd, x, ctx.input(1));
  if (!x) return Status::kInvalidModel;
  return import_as(ctx, Op::kGelu, pack<attrs::Gelu>(a), {x});
}

Status quick_gelu(ImportContext& ctx) {
  attrs::SwishT a;
  a.alpha = ctx.attr_float("alpha", 1.702f);
  return import_direct(ctx, Op::kSwish, pack<attrs::Swish>(a));
}

Status swish(ImportContext& ctx) {
  attrs::SwishT a;
  a.alpha = ctx.attr_float("alpha", 1.0f);
  return import_direct(ctx, Op::kSwish, pack<attrs::Swish>(a));
}

// SwiGLU(a, b) = swish(a) * b: shapes are equal, so the product broadcasts nothing.
Status swiglu(ImportContext& ctx) {
  if (ctx.type(ctx.input(0)).shape.rank != ctx.type(ctx.input(1)).shape.rank) {
    return ctx.fail(Status::kInvalidModel, "the gate and the linear operand have different ranks");
  }
  attrs::SwishT a;
  a.alpha = ctx.attr_float("alpha", 1.0f);
  const Value gate = ctx.emit1(Op::kSwish, pack<attrs::Swish>(a), {ctx.input(0)});
  return gate ? import_value(ctx, plain(ctx, Op::kMul, gate, ctx.input(1))) : Status::kInvalidModel;
}

Status isinf(ImportContext& ctx) {
  attrs::IsInfT a;
  a.detect_negative = ctx.attr_int("detect_negative", 1) != 0;
  a.detect_positive = ctx.attr_int("detect_positive", 1) != 0;
  return import_direct(ctx, Op::kIsInf, pack<attrs::IsInf>(a));
}

Status shrink(ImportContext& ctx) {
  attrs::ShrinkT a;
  a.lambd = ctx.attr_float("lambd", a.lambd);
  a.bias = ctx.attr_float("bias", a.bias);
  return import_direct(ctx, Op::kShrink, pack<attrs::Shrink>(a));
}

// y = 1 / x
Status reciprocal(ImportContext& ctx) {
  const Value x = ctx.input(0);
  const Value one = add_scalar(ctx, ctx.type(x).dtype, 1);
  return one ? import_value(ctx, plain(ctx, Op::kDiv, one, x)) : Status::kInvalidModel;
}

// y = x / (1 + |x|)
Status softsign(ImportContext& ctx) {
  const Value x = ctx.input(0);
  const Value one = add_scalar(ctx, ctx.type(x).dtype, 1);
  if (!one) return Status::kInvalidModel;
  const Value size = plain(ctx, Op::kAbs, x);
  const Value below = size ? plain(ctx, Op::kAdd, one, size) : Value{};
  return below ? import_value(ctx, plain(ctx, Op::kDiv, x, below)) : Status::kInvalidModel;
}

// y = x where x > alpha, 0 elsewhere
Status thresholded_relu(ImportContext& ctx) {
  const Value x = ctx.input(0);
  const DType t = ctx.type(x).dtype;
  const Value alpha = add_scalar(ctx, t, static_cast<double>(ctx.attr_float("alpha", 1.0f)));
  const Value zero = add_scalar(ctx, t, 0);
  if (!alpha || !zero) return Status::kInvalidModel;
  const Value above = plain(ctx, Op::kLess, alpha, x);
  if (!above) return Status::kInvalidModel;
  return import_as(ctx, Op::kWhere, pack<attrs::Where>(attrs::WhereT{}), {above, x, zero});
}

// Not x is x xor all ones.
Status bitwise_not(ImportContext& ctx) {
  const Value x = ctx.input(0);
  const Value ones = add_scalar_integer(ctx, ctx.type(x).dtype, -1);
  return ones ? import_value(ctx, plain(ctx, Op::kBitwiseXor, x, ones)) : Status::kInvalidModel;
}

// gamma * (x > 0 ? x : alpha * (exp(x / divisor) - 1)): by the name of the case that it is, else by the formula.
Status export_elu(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Elu>();
  const DType t = ctx.input_type(0).dtype;
  if (a.divisor() == 1 && a.gamma() == 1) return ctx.done(ctx.same().real("alpha", a.alpha()));
  if (a.divisor() == 1) return ctx.done(ctx.same("Selu").real("alpha", a.alpha()).real("gamma", a.gamma()));
  if (a.gamma() == 1 && a.divisor() == a.alpha() && t == DType::kF32)
    return ctx.done(ctx.same("Celu").real("alpha", a.alpha()));
  const std::string x = ctx.input(0);
  OnnxNode below =
      ExportContext::node("Elu", {ctx.step("Div", {x, ctx.add_scalar(t, static_cast<double>(a.divisor()))})});
  below.real("alpha", a.alpha());
  const std::string positive = ctx.step("Less", {ctx.add_scalar(t, 0), x});
  const std::string y = ctx.step("Where", {positive, x, ctx.step(std::move(below))});
  return ctx.finish("Mul", {y, ctx.add_scalar(t, static_cast<double>(a.gamma()))});
}

// Swish is an operator since opset 24 and its formula before; the formula is read by more tools.
Status export_swish(ExportContext& ctx) {
  const float alpha = ctx.attrs<attrs::Swish>().alpha();
  const std::string x = ctx.input(0);
  const std::string inner =
      alpha == 1 ? x : ctx.step("Mul", {x, ctx.add_scalar(ctx.input_type(0).dtype, static_cast<double>(alpha))});
  return ctx.finish("Mul", {x, ctx.step("Sigmoid", {inner})});
}

}  // namespace

extern const OnnxImport kAbsOnnx;
extern const OnnxImport kNegOnnx;
extern const OnnxImport kSqrtOnnx;
extern const OnnxImport kExpOnnx;
extern const OnnxImport kLogOnnx;
extern const OnnxImport kSinOnnx;
extern const OnnxImport kCosOnnx;
extern const OnnxImport kTanOnnx;
extern const OnnxImport kAsinOnnx;
extern const OnnxImport kAcosOnnx;
extern const OnnxImport kAtanOnnx;
extern const OnnxImport kSinhOnnx;
extern const OnnxImport kCoshOnnx;
extern const OnnxImport kAsinhOnnx;
extern const OnnxImport kAcoshOnnx;
extern const OnnxImport kAtanhOnnx;
extern const OnnxImport kTanhOnnx;
extern const OnnxImport kSigmoidOnnx;
extern const OnnxImport kReluOnnx;
extern const OnnxImport kLeakyReluOnnx;
extern const OnnxImport kEluOnnx;
extern const OnnxImport kHardSigmoidOnnx;
extern const OnnxImport kHardSwishOnnx;
extern const OnnxImport kSoftplusOnnx;
extern const OnnxImport kGeluOnnx;
extern const OnnxImport kErfOnnx;
extern const OnnxImport kFloorOnnx;
extern const OnnxImport kCeilOnnx;
extern const OnnxImport kRoundOnnx;
extern const OnnxImport kSignOnnx;
extern const OnnxImport kNotOnnx;
extern const OnnxImport kIsNaNOnnx;
extern const OnnxImport kIsInfOnnx;
extern const OnnxImport kMishOnnx;
extern const OnnxImport kSwishOnnx;
extern const OnnxImport kShrinkOnnx;
extern const OnnxImport kSeluOnnx;
extern const OnnxImport kCeluOnnx;
extern const OnnxImport kReciprocalOnnx;
extern const OnnxImport kSoftsignOnnx;
extern const OnnxImport kThresholdedReluOnnx;
extern const OnnxImport kBitwiseNotOnnx;
extern const OnnxImport kSwiGLUOnnx;
extern const OnnxImport kMsGeluOnnx;
extern const OnnxImport kMsBiasGeluOnnx;
extern const OnnxImport kMsFastGeluOnnx;
extern const OnnxImport kMsQuickGeluOnnx;

const OnnxImport kAbsOnnx = {"", "Abs", direct<Op::kAbs>};
const OnnxImport kNegOnnx = {"", "Neg", direct<Op::kNeg>};
const OnnxImport kSqrtOnnx = {"", "Sqrt", direct<Op::kSqrt>};
const OnnxImport kExpOnnx = {"", "Exp", direct<Op::kExp>};
const OnnxImport kLogOnnx = {"", "Log", direct<Op::kLog>};
const OnnxImport kSinOnnx = {"", "Sin", direct<Op::kSin>};
const OnnxImport kCosOnnx = {"", "Cos", direct<Op::kCos>};
const OnnxImport kTanOnnx = {"", "Tan", direct<Op::kTan>};
const OnnxImport kAsinOnnx = {"", "Asin", direct<Op::kAsin>};
const OnnxImport kAcosOnnx = {"", "Acos", direct<Op::kAcos>};
const OnnxImport kAtanOnnx = {"", "Atan", direct<Op::kAtan>};
const OnnxImport kSinhOnnx = {"", "Sinh", direct<Op::kSinh>};
const OnnxImport kCoshOnnx = {"", "Cosh", direct<Op::kCosh>};
const OnnxImport kAsinhOnnx = {"", "Asinh", direct<Op::kAsinh>};
const OnnxImport kAcoshOnnx = {"", "Acosh", direct<Op::kAcosh>};
const OnnxImport kAtanhOnnx = {"", "Atanh", direct<Op::kAtanh>};
const OnnxImport kTanhOnnx = {"", "Tanh", direct<Op::kTanh>};
const OnnxImport kSigmoidOnnx = {"", "Sigmoid", direct<Op::kSigmoid>};
const OnnxImport kReluOnnx = {"", "Relu", direct<Op::kRelu>};
const OnnxImport kLeakyReluOnnx = {"", "LeakyRelu", leaky_relu};
const OnnxImport kEluOnnx = {"", "Elu", elu};
const OnnxImport kHardSigmoidOnnx = {"", "HardSigmoid", hard_sigmoid};
const OnnxImport kHardSwishOnnx = {"", "HardSwish", direct<Op::kHardSwish>};
const OnnxImport kSoftplusOnnx = {"", "Softplus", direct<Op::kSoftplus>};
const OnnxImport kGeluOnnx = {"", "Gelu", gelu};
const OnnxImport kErfOnnx = {"", "Erf", erf};
const OnnxImport kFloorOnnx = {"", "Floor", direct<Op::kFloor>};
const OnnxImport kCeilOnnx = {"", "Ceil", direct<Op::kCeil>};
const OnnxImport kRoundOnnx = {"", "Round", direct<Op::kRound>};
const OnnxImport kSignOnnx = {"", "Sign", direct<Op::kSign>};
const OnnxImport kNotOnnx = {"", "Not", direct<Op::kNot>};
const OnnxImport kIsNaNOnnx = {"", "IsNaN", direct<Op::kIsNaN>};
const OnnxImport kIsInfOnnx = {"", "IsInf", isinf};
const OnnxImport kMishOnnx = {"", "Mish", direct<Op::kMish>};
const OnnxImport kSwishOnnx = {"", "Swish", swish};
const OnnxImport kShrinkOnnx = {"", "Shrink", shrink};
const OnnxImport kSeluOnnx = {"", "Selu", selu};
const OnnxImport kCeluOnnx = {"", "Celu", celu};
const OnnxImport kReciprocalOnnx = {"", "Reciprocal", reciprocal};
const OnnxImport kSoftsignOnnx = {"", "Softsign", softsign};
const OnnxImport kThresholdedReluOnnx = {"", "ThresholdedRelu", thresholded_relu};
const OnnxImport kBitwiseNotOnnx = {"", "BitwiseNot", bitwise_not};
const OnnxImport kSwiGLUOnnx = {"", "SwiGLU", swiglu};
const OnnxImport kMsGeluOnnx = {"com.microsoft", "Gelu", gelu};
const OnnxImport kMsBiasGeluOnnx = {"com.microsoft", "BiasGelu", bias_gelu<attrs::GeluForm::Erf>};
const OnnxImport kMsFastGeluOnnx = {"com.microsoft", "FastGelu", bias_gelu<attrs::GeluForm::Tanh>};
const OnnxImport kMsQuickGeluOnnx = {"com.microsoft", "QuickGelu", quick_gelu};

Status export_unary(ExportContext& ctx) {
  OnnxNode n = ctx.same();
  switch (ctx.op()) {
    case Op::kLeakyRelu:
      n.real("alpha", ctx.attrs<attrs::LeakyRelu>().alpha());
      break;
    case Op::kElu:
      return export_elu(ctx);
    case Op::kSwish:
      return export_swish(ctx);
    case Op::kHardSigmoid:
      n.real("alpha", ctx.attrs<attrs::HardSigmoid>().alpha()).real("beta", ctx.attrs<attrs::HardSigmoid>().beta());
      break;
    case Op::kGelu:
      n.text("approximate", ctx.attrs<attrs::Gelu>().form() == attrs::GeluForm::Tanh ? "tanh" : "none");
      break;
    case Op::kIsInf:
      n.flag("detect_negative", ctx.attrs<attrs::IsInf>().detect_negative());
      n.flag("detect_positive", ctx.attrs<attrs::IsInf>().detect_positive());
      break;
    case Op::kShrink:
      n.real("lambd", ctx.attrs<attrs::Shrink>().lambd()).real("bias", ctx.attrs<attrs::Shrink>().bias());
      break;
    default:
      break;
  }
  return ctx.done(std::move(n));
}

}  // namespace vireo
