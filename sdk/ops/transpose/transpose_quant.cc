#include "sdk/ops/quant_rule.h"

namespace vireo {

QuantRule transpose_quant(const QuantView&) { return quant_kind(QuantKind::kMoves); }

}  // namespace vireo
