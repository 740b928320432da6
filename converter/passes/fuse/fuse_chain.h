// Chains of elementwise operators as one composite: fuse_chain.cc.
#ifndef VIREO_CONVERTER_PASSES_FUSE_FUSE_CHAIN_H_
#define VIREO_CONVERTER_PASSES_FUSE_FUSE_CHAIN_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kFuseChain;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_FUSE_FUSE_CHAIN_H_
