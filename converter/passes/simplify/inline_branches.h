#ifndef VIREO_CONVERTER_PASSES_SIMPLIFY_INLINE_BRANCHES_H_
#define VIREO_CONVERTER_PASSES_SIMPLIFY_INLINE_BRANCHES_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kInlineBranches;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SIMPLIFY_INLINE_BRANCHES_H_
