#include "sdk/ops/quant_rule.h"

namespace vireo {

QuantRule split_quant(const QuantView& n) {
  if (n.outputs != 1) return quant_stays("it has several results, which no pass moves as codes");
  return quant_kind(QuantKind::kMoves);
}

}  // namespace vireo
