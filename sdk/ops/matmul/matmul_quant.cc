// Weights by column. Of two values each has one scale: scores of attention, and what they weigh.
#include "sdk/ops/quant_rule.h"

namespace vireo {
namespace {

QuantRule pair_quant(const QuantView& n) {
  const Shape &a = n.inputs[0].type.shape, &b = n.inputs[1].type.shape;
  if (a.rank < 2 || b.rank < 2) return quant_stays("it multiplies vectors");
  const bool bounded = n.inputs[0].shares;  // INTEGER.md: sums of shares are small, however many there are
  if (is_symbolic(a[a.rank - 1]) && !bounded)
    return quant_stays("its inner dimension is not known, and a sum may leave int32");
  if (!bounded && a[a.rank - 1] > kMostQuantProducts)
    return quant_stays("its sums are so long that they may leave int32");
  QuantRule r = quant_kind(QuantKind::kPair);
  r.codes = 3;
  return r;
}

}  // namespace

QuantRule matmul_quant(const QuantView& n) {
  if (!n.has(1) || (!n.inputs[1].constant && !n.inputs[0].constant)) return pair_quant(n);
  if (!n.inputs[1].constant) return quant_stays("its first operand is constant");
  if (n.inputs[1].type.shape.rank != 2) return quant_stays("its weights are not one matrix");
  QuantRule r = quant_kind(QuantKind::kProduct);
  r.weights = 1;
  r.weight_axis = 1;
  return r;
}

}  // namespace vireo
