#ifndef VIREO_CONVERTER_PASSES_SIMPLIFY_ELIMINATE_NO_OPS_H_
#define VIREO_CONVERTER_PASSES_SIMPLIFY_ELIMINATE_NO_OPS_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kEliminateNoOps;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SIMPLIFY_ELIMINATE_NO_OPS_H_
