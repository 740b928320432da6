// Masks that let query i see keys 0 to i + d and no other, shown from the nodes that compute them.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_CAUSAL_MASK_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_CAUSAL_MASK_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

// A value [.., queries, keys] of two numbers: `seen` at key j <= query i + diagonal, `masked` at all others.
struct CausalMask {
  Dim diagonal = 0;
  double seen = 0, masked = 0;
};

// False: `v` is not shown to be one. `*why`, where it is not null then, is what its comparison of positions lacks.
bool causal_mask(ir::Graph& g, const ir::Value* v, CausalMask* mask, const char** why);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_CAUSAL_MASK_H_
