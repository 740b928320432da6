// Where(kept, scores, low) in front of a Softmax: codes stay as they are, and the Softmax leaves out all that is not
// kept.
#include <cmath>

#include "sdk/ops/quant_rule.h"

namespace vireo {

QuantRule where_quant(const QuantView& n) {
  const QuantInput& low = n.inputs[2];
  if (!low.scalar() || !(low.numbers[0] <= kLowScore) || !std::isfinite(low.numbers[0]))
    return quant_stays("it chooses among values");
  QuantRule r = quant_kind(QuantKind::kMoves);
  r.codes = 1u << 1u;
  return r;
}

}  // namespace vireo
