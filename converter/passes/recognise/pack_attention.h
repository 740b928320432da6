// Heads stay where the projections wrote them: pack_attention.cc.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_PACK_ATTENTION_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_PACK_ATTENTION_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kPackAttention;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_PACK_ATTENTION_H_
