// Masks that are the attention's own causal form: recognise_causal.cc.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_CAUSAL_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_CAUSAL_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kRecogniseCausal;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_CAUSAL_H_
