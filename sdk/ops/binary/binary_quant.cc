// With one number as operand, a function of the other. Add, Sub and Mul of two values join codes of two scales; a
// constant tensor gets codes of its own.
#include "sdk/ops/quant_rule.h"

namespace vireo {

QuantRule binary_quant(const QuantView& n) {
  const bool numbers = n.inputs[0].scalar() || n.inputs[1].scalar();
  switch (n.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul: {
      if (!numbers) {
        QuantRule r = quant_kind(QuantKind::kJoin);
        r.codes = 3;
        return r;
      }
      break;
    }
    case Op::kPRelu: {
      if (n.inputs[1].scalar()) break;
      if (!n.inputs[1].constant) return quant_stays("its slopes are computed");
      QuantRule r = quant_kind(QuantKind::kOwn);
      r.channels = 1;
      return r;
    }
    case Op::kDiv:
    case Op::kPow:
    case Op::kMin:
    case Op::kMax:
      if (!numbers) return quant_stays("there is no integer form of it for two values");
      break;
    default:
      return quant_stays("its result is no real number");
  }
  QuantRule r = quant_kind(QuantKind::kFunction);
  r.codes = n.inputs[0].scalar() ? 2 : 1;
  return r;
}

}  // namespace vireo
