// Weights by column. The product of two values (scores of attention) stays: neither operand has a scale that fits all
// of its rows.
#include "sdk/ops/quant_rule.h"

namespace vireo {

QuantRule matmul_quant(const QuantView& n) {
  if (!n.has(1) || !n.inputs[1].constant) return quant_stays("both operands are computed");
  if (n.inputs[1].type.shape.rank != 2) return quant_stays("its weights are not one matrix");
  QuantRule r = quant_kind(QuantKind::kProduct);
  r.weights = 1;
  r.weight_axis = 1;
  return r;
}

}  // namespace vireo
