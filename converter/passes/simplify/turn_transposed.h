#ifndef VIREO_CONVERTER_PASSES_SIMPLIFY_TURN_TRANSPOSED_H_
#define VIREO_CONVERTER_PASSES_SIMPLIFY_TURN_TRANSPOSED_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kTurnTransposed;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SIMPLIFY_TURN_TRANSPOSED_H_
