// To the nearest moves elements; what interpolates has integer weights.
#include "sdk/ops/quant_rule.h"
#include "sdk/ops/resize/resize_generated.h"

namespace vireo {

QuantRule resize_quant(const QuantView& n) {
  const auto& a = n.attrs<attrs::Resize>();
  if (a.coordinate() == attrs::ResizeCoordinate::tf_crop_and_resize) return quant_stays("it crops");
  QuantRule r = quant_kind(a.mode() == attrs::ResizeMode::nearest ? QuantKind::kMoves : QuantKind::kOwn);
  r.channels = 1;
  return r;
}

}  // namespace vireo
