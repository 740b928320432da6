#ifndef VIREO_CONVERTER_PASSES_FUSE_FUSE_ATTENTION_CODES_H_
#define VIREO_CONVERTER_PASSES_FUSE_FUSE_ATTENTION_CODES_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kFuseAttentionCodes;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_FUSE_FUSE_ATTENTION_CODES_H_
