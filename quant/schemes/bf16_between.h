// Values that stay bfloat16 between nodes: see bf16_between.cc.
#ifndef VIREO_QUANT_SCHEMES_BF16_BETWEEN_H_
#define VIREO_QUANT_SCHEMES_BF16_BETWEEN_H_

#include "quant/schemes/scheme.h"

namespace vireo::quant {

// `graph`: as fused, with the products that kBf16 made.
void keep_bf16_between(ir::Graph& graph, PassLog& log);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SCHEMES_BF16_BETWEEN_H_
