// chain: elementwise functions, broadcasts, and everything that only moves elements. One lane makes four neighbours,
// or a word of them where elements have less than 8 bits.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_CHAIN_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_CHAIN_H_

#include "delegates/gpu/templates/dispatch.h"
#include "delegates/gpu/templates/expression.h"

namespace vireo::gpu {

struct ChainProblem {
  Extents shape;  // the index space; its last axis is the fastest one of the outputs where that can be
  Expression expression;
};

struct ChainTiling {
  uint32_t lanes = 64;
};

ChainTiling choose_chain(const ChainProblem& problem, const Target& target);
Dispatch make_chain(const ChainProblem& problem, const ChainTiling& tiling, const Target& target);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_CHAIN_H_
