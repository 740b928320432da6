// Products with a vector as products of matrices: lift_vectors.cc.
#ifndef VIREO_CONVERTER_PASSES_SIMPLIFY_LIFT_VECTORS_H_
#define VIREO_CONVERTER_PASSES_SIMPLIFY_LIFT_VECTORS_H_

#include "converter/passes/pass.h"

namespace vireo::passes {

extern const Pass kLiftVectors;

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SIMPLIFY_LIFT_VECTORS_H_
