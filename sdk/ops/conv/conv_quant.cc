// Weights by output channel, the bias in int32 at the scale of the product.
#include "sdk/ops/quant_rule.h"

namespace vireo {

QuantRule conv_quant(const QuantView& n) {
  if (!n.has(1) || !n.inputs[1].constant) return quant_stays("its weights are computed");
  if (n.has(2) && !n.inputs[2].constant) return quant_stays("its bias is computed");
  QuantRule r = quant_kind(QuantKind::kProduct);
  r.weights = 1;
  r.weight_axis = 0;
  r.bias = 2;
  r.channels = 1;
  return r;
}

}  // namespace vireo
