// Weights by column of the result.
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/quant_rule.h"

namespace vireo {

QuantRule gemm_quant(const QuantView& n) {
  const auto& a = n.attrs<attrs::Gemm>();
  if (!n.has(1) || !n.inputs[1].constant) return quant_stays("its second operand is computed");
  if (a.trans_a()) return quant_stays("its first operand is transposed");
  if (a.alpha() != 1) return quant_stays("its alpha is not 1");
  if (n.has(2) && (!n.inputs[2].constant || a.beta() != 1)) return quant_stays("its bias is computed or scaled");
  const Shape& bias = n.has(2) ? n.inputs[2].type.shape : Shape{};
  for (int i = 0; i + 1 < bias.rank; ++i) {
    if (bias[i] != 1) return quant_stays("its bias is not one constant for each column");
  }
  QuantRule r = quant_kind(QuantKind::kProduct);
  r.weights = 1;
  r.weight_axis = a.trans_b() ? 0 : 1;
  r.bias = 2;
  return r;
}

}  // namespace vireo
