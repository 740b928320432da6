// A function of one element becomes a table; what lies between bounds for every x needs no data.
#include "sdk/ops/quant_rule.h"

namespace vireo {
namespace {

QuantRule bounded(double low, double high) {
  QuantRule r = quant_kind(QuantKind::kFunction);
  r.bounded = true;
  r.low = low;
  r.high = high;
  return r;
}

}  // namespace

QuantRule unary_quant(const QuantView& n) {
  switch (n.op) {
    case Op::kNot:
    case Op::kIsNaN:
    case Op::kIsInf:
      return quant_stays("its result is no number");
    case Op::kSigmoid:
    case Op::kHardSigmoid:
      return bounded(0, 1);
    case Op::kTanh:
    case Op::kErf:
    case Op::kSin:
    case Op::kCos:
    case Op::kSign:
      return bounded(-1, 1);
    default: {
      QuantRule r = quant_kind(QuantKind::kFunction);
      r.clamps = n.op == Op::kRelu;
      return r;
    }
  }
}

}  // namespace vireo
