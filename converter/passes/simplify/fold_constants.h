#ifndef VIREO_CONVERTER_PASSES_SIMPLIFY_FOLD_CONSTANTS_H_
#define VIREO_CONVERTER_PASSES_SIMPLIFY_FOLD_CONSTANTS_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kFoldConstants;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SIMPLIFY_FOLD_CONSTANTS_H_
