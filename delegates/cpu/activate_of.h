// The kernels' name of a scalar function.
#ifndef VIREO_DELEGATES_CPU_ACTIVATE_OF_H_
#define VIREO_DELEGATES_CPU_ACTIVATE_OF_H_

#include "delegates/cpu/kernels/activation/activation.h"
#include "sdk/composites/function.h"

namespace vireo::cpu {

// False where no kernel has the function. One that is not given is none.
bool activate_of(const composites::Function& f, Activate* out);

// The same of a node that is one. `graph` is the node's.
inline bool read_activation(const GraphReader& graph, const vireo_graph_node& node, Activate* out) {
  composites::Function f;
  return composites::read_function(graph, node, &f) && activate_of(f, out);
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_ACTIVATE_OF_H_
