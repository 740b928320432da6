#ifndef VIREO_CONVERTER_PASSES_SIMPLIFY_DEAD_CODE_H_
#define VIREO_CONVERTER_PASSES_SIMPLIFY_DEAD_CODE_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kDeadCode;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SIMPLIFY_DEAD_CODE_H_
