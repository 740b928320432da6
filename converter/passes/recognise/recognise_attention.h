// Attention that exporters spell out: recognise_attention.cc.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_ATTENTION_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_ATTENTION_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kRecogniseAttention;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_ATTENTION_H_
