// Zeros are the zero point; every other number would need a code of its own.
#include "sdk/ops/pad/pad_generated.h"
#include "sdk/ops/quant_rule.h"

namespace vireo {

QuantRule pad_quant(const QuantView& n) {
  if (n.op != Op::kPad) return quant_stays("there is no integer form of it");
  const bool zero = !n.has(2) || (n.inputs[2].scalar() && n.inputs[2].numbers[0] == 0);
  if (n.attrs<attrs::Pad>().mode() == attrs::PadMode::constant && !zero)
    return quant_stays("it pads with something else than 0");
  return quant_kind(QuantKind::kMoves);
}

}  // namespace vireo
