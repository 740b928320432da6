#include "delegates/xnnpack/rules.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/unary/unary_generated.h"

namespace vireo::xnnpack {
namespace {

constexpr const char* kNotTheFormula = "XNNPACK has another formula";

// The operator and its parameters, or null.
const char* unary_of(const Node& n, xnn_unary_operator* op, xnn_unary_params* params) {
  switch (n.op) {
    case Op::kAbs:
      *op = xnn_unary_abs;
      return nullptr;
    case Op::kNeg:
      *op = xnn_unary_negate;
      return nullptr;
    case Op::kSqrt:
      *op = xnn_unary_square_root;
      return nullptr;
    case Op::kExp:
      *op = xnn_unary_exp;
      return nullptr;
    case Op::kLog:
      *op = xnn_unary_log;
      return nullptr;
    case Op::kTanh:
      *op = xnn_unary_tanh;
      return nullptr;
    case Op::kSigmoid:
      *op = xnn_unary_sigmoid;
      return nullptr;
    case Op::kHardSwish:
      *op = xnn_unary_hardswish;
      return nullptr;
    case Op::kFloor:
      *op = xnn_unary_floor;
      return nullptr;
    case Op::kCeil:
      *op = xnn_unary_ceiling;
      return nullptr;
    case Op::kRound:
      *op = xnn_unary_bankers_rounding;  // halves to even, as ONNX says
      return nullptr;
    case Op::kGelu:
      *op = xnn_unary_gelu;
      return n.read<attrs::Gelu>().form() == attrs::GeluForm::Erf ? nullptr : kNotTheFormula;
    case Op::kLeakyRelu:
      *op = xnn_unary_leaky_relu;
      params->leaky_relu.negative_slope = n.read<attrs::LeakyRelu>().alpha();
      return isfinite(params->leaky_relu.negative_slope) ? nullptr : kNotTheFormula;
    case Op::kElu: {
      const auto& a = n.read<attrs::Elu>();
      *op = xnn_unary_elu;
      params->elu.alpha = a.alpha();
      return a.gamma() == 1 && a.divisor() == 1 && a.alpha() > 0 && isfinite(a.alpha()) ? nullptr : kNotTheFormula;
    }
    case Op::kRelu:
      *op = xnn_unary_clamp;
      params->clamp.min = 0;
      params->clamp.max = INFINITY;
      return nullptr;
    case Op::kClip: {
      *op = xnn_unary_clamp;
      params->clamp.min = -INFINITY;
      params->clamp.max = INFINITY;
      if ((n.in(1) != nullptr && !n.in(1)->scalar(&params->clamp.min)) ||
          (n.in(2) != nullptr && !n.in(2)->scalar(&params->clamp.max)))
        return "its bounds are not constant";
      return params->clamp.min < params->clamp.max ? nullptr : "its bounds leave nothing";
    }
    default:
      return kNotTheFormula;
  }
}

xnn_binary_operator binary_of(Op op) {
  switch (op) {
    case Op::kAdd:
      return xnn_binary_add;
    case Op::kSub:
      return xnn_binary_subtract;
    case Op::kMul:
      return xnn_binary_multiply;
    case Op::kDiv:
      return xnn_binary_divide;
    case Op::kMin:
      return xnn_binary_minimum;
    case Op::kMax:
      return xnn_binary_maximum;
    case Op::kPRelu:
      return xnn_binary_prelu;
    default:
      return xnn_binary_invalid;
  }
}

}  // namespace

const char* define_unary(Writer& w, const Step& s) {
  xnn_unary_operator op = xnn_unary_invalid;
  xnn_unary_params params = {};
  if (const char* reason = unary_of(*s.node, &op, &params)) return reason;
  if (s.out->type.dtype == DType::kF16 && (op == xnn_unary_exp || op == xnn_unary_log || op == xnn_unary_gelu))
    return "XNNPACK has no float16 for it";
  if (s.node->in(0) == nullptr) return kNotTheFormula;
  const uint32_t x = w.in(*s.node->in(0), flat(*s.node->in(0))), y = w.out(*s.out, flat(*s.out));
  if (w.asks()) return nullptr;
  return w.done(xnn_define_unary(w.graph(), op, &params, x, y, 0));
}

// x * sigmoid(x); the output may lie on x, so that the sigmoid needs a place of its own.
const char* define_swish(Writer& w, const Step& s) {
  const Value& x = *s.node->in(0);
  if (s.node->read<attrs::Swish>().alpha() != 1) return kNotTheFormula;
  const uint32_t in = w.in(x, flat(x)), gate = w.out(s.spare, flat(x));
  const uint32_t again = w.in(x, flat(x)), gate_in = w.in(s.spare, flat(x)), y = w.out(*s.out, flat(x));
  if (w.asks()) return nullptr;
  const xnn_status status = xnn_define_unary(w.graph(), xnn_unary_sigmoid, nullptr, in, gate, 0);
  if (status != xnn_status_success) return w.done(status);
  return w.done(xnn_define_binary(w.graph(), xnn_binary_multiply, nullptr, again, gate_in, y, 0));
}

const char* define_binary(Writer& w, const Step& s) {
  const Node& n = *s.node;
  if (n.input_count != 2 || n.in(0) == nullptr || n.in(1) == nullptr) return "XNNPACK takes two operands";
  Dims a, b, y;
  if (!dims_of(n.in(0)->type.shape, &a) || !dims_of(n.in(1)->type.shape, &b) || !dims_of(s.out->type.shape, &y))
    return "more dimensions than XNNPACK has";
  const uint32_t left = w.in(*n.in(0), a), right = w.in(*n.in(1), b), out = w.out(*s.out, y);
  if (w.asks()) return nullptr;
  return w.done(xnn_define_binary(w.graph(), binary_of(n.op), nullptr, left, right, out, 0));
}

const char* define_softmax(Writer& w, const Step& s) {
  const Value& x = *s.node->inputs[0];
  const int rank = x.type.shape.rank, axis = normalize_axis(s.node->read<attrs::Softmax>().axis(), rank);
  if (axis != rank - 1) return "XNNPACK's Softmax is over the last axis";
  const int64_t channels = x.type.shape[axis];
  // Its last step reads the result in whole vectors of four, past the end of a row that is no multiple of them: of the
  // last row, past the caller's memory.
  if (channels % 4 != 0) return "XNNPACK's Softmax reads past the end of such a row of its result";
  const Dims dims = {element_count(x.type.shape) / channels, channels};
  const uint32_t in = w.in(x, dims), out = w.out(*s.out, dims);
  if (w.asks()) return nullptr;
  return w.done(xnn_define_softmax(w.graph(), in, out, 0));
}

}  // namespace vireo::xnnpack
