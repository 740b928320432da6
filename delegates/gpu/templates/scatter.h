// scatter: elements of a tensor are replaced at places that other tensors say, or combined with what is there. A lane
// has a line of updates that no other lane's meet, and makes them one after another: the last one stays, as on a CPU.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_SCATTER_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_SCATTER_H_

#include "delegates/gpu/templates/dispatch.h"
#include "delegates/gpu/templates/expression.h"

namespace vireo::gpu {

// Bindings: indices, updates, y, and the words of errors with `reports`. y holds the tensor before.
struct ScatterProblem {
  Extents shape;        // of the lanes
  int64_t updates = 1;  // of a lane
  DType dtype = DType::kF32, index_dtype = DType::kI64;
  // Views over [shape..., updates], without bounds and gathers.
  View index, update;
  View y;  // over the shape: element 0 of the axes that indices choose from
  // What an index chooses: `offset` elements behind index's place, on an axis of `extent`, whose elements are `step`
  // apart in y.
  struct Component {
    int64_t offset = 0, extent = 1, step = 1;
  };
  std::vector<Component> components;
  Function combine = Function::kCast;  // kAdd, kMul, kMin or kMax of what is there and the update; else it is replaced
  bool reports = false;                // an index outside of its axis is an error of the run; always its update is left
  uint32_t slot = 0;
};

Dispatch make_scatter(const ScatterProblem& problem, const Target& target);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_SCATTER_H_
