// top: the first elements of each line in their order, and where they were. A lane has an element, and counts those of
// its line that come before it: the count is its place in the result. Work is the square of a line's length, and needs
// neither shared memory nor rounds of exchanges.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_TOP_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_TOP_H_

#include "delegates/gpu/templates/dispatch.h"
#include "delegates/gpu/templates/expression.h"

namespace vireo::gpu {

// Bindings: x, then values and indices, each where it is wanted.
struct TopProblem {
  Extents shape;  // of x; a line is the last axis
  int64_t count = 1;
  bool largest = true;  // NaN comes behind all numbers in order; of equal elements the first one is before the others
  DType dtype = DType::kF32;
  View x;
  View values;   // over the lines and `count`. No strides: not wanted, also below
  View indices;  // int64; strides in elements
};

Dispatch make_top(const TopProblem& problem, const Target& target);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_TOP_H_
