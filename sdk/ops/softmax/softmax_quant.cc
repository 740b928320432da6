#include "sdk/ops/quant_rule.h"

namespace vireo {

QuantRule softmax_quant(const QuantView& n) {
  if (n.op != Op::kSoftmax) return quant_stays("there is no integer form of it");
  QuantRule r = quant_kind(QuantKind::kOwn);
  r.bounded = true;
  r.high = 1;
  return r;
}

}  // namespace vireo
