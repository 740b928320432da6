// Padding as part of the window that follows: merge_pad.cc.
#ifndef VIREO_CONVERTER_PASSES_SIMPLIFY_MERGE_PAD_H_
#define VIREO_CONVERTER_PASSES_SIMPLIFY_MERGE_PAD_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kMergePad;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SIMPLIFY_MERGE_PAD_H_
