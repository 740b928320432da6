// Shapes and parts that say the same in fewer nodes: simplify_shapes.cc.
#ifndef VIREO_CONVERTER_PASSES_SIMPLIFY_SIMPLIFY_SHAPES_H_
#define VIREO_CONVERTER_PASSES_SIMPLIFY_SIMPLIFY_SHAPES_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kSimplifyShapes;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SIMPLIFY_SIMPLIFY_SHAPES_H_
