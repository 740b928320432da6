// Transposes that meet cancel: sink_transposes.cc.
#ifndef VIREO_CONVERTER_PASSES_LAYOUT_SINK_TRANSPOSES_H_
#define VIREO_CONVERTER_PASSES_LAYOUT_SINK_TRANSPOSES_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kSinkTransposes;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_LAYOUT_SINK_TRANSPOSES_H_
