#include "sdk/ops/quant_rule.h"

namespace vireo {

QuantRule global_pool_quant(const QuantView& n) {
  if (n.op != Op::kGlobalAveragePool) return quant_stays("there is no integer form of it");
  QuantRule r = quant_kind(QuantKind::kOwn);
  r.channels = 1;
  return r;
}

}  // namespace vireo
