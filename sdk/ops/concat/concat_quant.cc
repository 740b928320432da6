// Parts of one scale are joined as codes; a table brings the others to it.
#include "sdk/ops/quant_rule.h"

namespace vireo {

QuantRule concat_quant(const QuantView& n) {
  if (n.inputs.size() > 31) return quant_stays("it has more than 31 parts");
  QuantRule r = quant_kind(QuantKind::kJoin);
  r.codes = (1u << n.inputs.size()) - 1;
  return r;
}

}  // namespace vireo
