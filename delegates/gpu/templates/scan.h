// scan: what goes along an axis step by step. A lane has a line of elements and walks through it.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_SCAN_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_SCAN_H_

#include "delegates/gpu/templates/dispatch.h"
#include "delegates/gpu/templates/expression.h"

namespace vireo::gpu {

// y[.., i] = x[.., 0] + .. + x[.., i] or their product, along the last axis of the space.
struct ScanProblem {
  Extents shape;
  DType dtype = DType::kF32;  // of x and y; integers wrap, narrow floats are summed as float32
  View x, y;                  // without bounds and gathers
  bool product = false;
  bool exclusive = false;  // element i is not part of result i
  bool reverse = false;    // from the last element to the first
};

Dispatch make_scan(const ScanProblem& problem, const Target& target);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_SCAN_H_
