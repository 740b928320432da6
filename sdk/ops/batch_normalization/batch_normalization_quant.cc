// One that no product took: a factor and an offset for each channel.
#include "sdk/ops/quant_rule.h"

namespace vireo {

QuantRule batch_normalization_quant(const QuantView& n) {
  for (size_t i = 1; i < n.inputs.size(); ++i) {
    if (!n.inputs[i].constant) return quant_stays("its parameters are computed");
  }
  if (n.outputs != 1) return quant_stays("it computes statistics");
  QuantRule r = quant_kind(QuantKind::kOwn);
  r.channels = 1;
  return r;
}

}  // namespace vireo
