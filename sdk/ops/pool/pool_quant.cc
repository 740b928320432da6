// A maximum of codes is the code of the maximum, where no window holds padding only.
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/quant_rule.h"

namespace vireo {

QuantRule pool_quant(const QuantView& n) {
  if (n.op == Op::kLpPool) return quant_stays("there is no integer form of it");
  if (n.outputs != 1) return quant_stays("the places of the maxima are wanted");
  const auto& a = n.attrs<attrs::Pool>();
  const unsigned spatial = a.kernel_shape()->size();
  for (unsigned i = 0; a.auto_pad() == 0 && a.pads() != nullptr && i < a.pads()->size(); ++i) {
    const unsigned d = i % spatial;
    const int32_t dilation = a.dilations() != nullptr && a.dilations()->size() == spatial ? a.dilations()->Get(d) : 1;
    if (a.pads()->Get(i) > (a.kernel_shape()->Get(d) - 1) * dilation)
      return quant_stays("a window may hold padding only");
  }
  QuantRule r = quant_kind(n.op == Op::kMaxPool ? QuantKind::kMoves : QuantKind::kOwn);
  r.channels = 1;
  return r;
}

}  // namespace vireo
