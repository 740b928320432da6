// Attention in bfloat16 with the Casts around it: fuse_attention.cc.
#ifndef VIREO_CONVERTER_PASSES_FUSE_FUSE_ATTENTION_H_
#define VIREO_CONVERTER_PASSES_FUSE_FUSE_ATTENTION_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kFuseAttention;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_FUSE_FUSE_ATTENTION_H_
