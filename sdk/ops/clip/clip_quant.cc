// Bounds that are known narrow the codes of what stands before.
#include "sdk/ops/quant_rule.h"

namespace vireo {

QuantRule clip_quant(const QuantView& n) {
  for (size_t i = 1; i < 3; ++i) {
    if (n.has(i) && !n.inputs[i].scalar()) return quant_stays("its bounds are computed");
  }
  QuantRule r = quant_kind(QuantKind::kFunction);
  r.clamps = true;
  return r;
}

}  // namespace vireo
