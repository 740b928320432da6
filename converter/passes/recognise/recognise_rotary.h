// Rotary position embedding that exporters spell out: recognise_rotary.cc.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_ROTARY_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_ROTARY_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kRecogniseRotary;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_RECOGNISE_ROTARY_H_
