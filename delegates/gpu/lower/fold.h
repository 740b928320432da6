// A product whose batch shares one right operand is one with more rows: what a model writes as a row times a matrix for
// each place of a sequence becomes a matrix times a matrix, and rows beside a tile's end are fewer. Few
// rows of a large batch change places with it. Where the result lies otherwise than x does, rows become two axes of it.
#ifndef VIREO_DELEGATES_GPU_LOWER_FOLD_H_
#define VIREO_DELEGATES_GPU_LOWER_FOLD_H_

#include "delegates/gpu/lower/work.h"

namespace vireo::gpu {

// Behind fuse(), which cuts a reader's dimensions into a product's axes but joins none. Extents that change from run to
// run stay as they are.
void fold(Lowering* lowering);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_LOWER_FOLD_H_
