// Masks that are the attention's own causal form: recognise_causal.cc.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_CAUSAL_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_CAUSAL_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kRecogniseCausal;

// Null where the mask of `attention` is its causal form, with `cached` keys in front of the first query's own and
// `keys` in all; else why it has to stay, "" where nothing about it looks causal.
const char* refuse_causal(ir::Graph& g, const ir::Node& attention, Dim cached, Dim keys);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_CAUSAL_H_
