#include "sdk/ops/quant_rule.h"

namespace vireo {

QuantRule gather_quant(const QuantView& n) {
  if (n.inputs[0].constant) return quant_stays("it reads a table of weights");
  return quant_kind(QuantKind::kMoves);
}

}  // namespace vireo
