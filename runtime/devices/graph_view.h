// A subgraph as delegates see it: the functions behind vireo_host.
#ifndef VIREO_RUNTIME_DEVICES_GRAPH_VIEW_H_
#define VIREO_RUNTIME_DEVICES_GRAPH_VIEW_H_

#include "runtime/devices/bound_type.h"
#include "runtime/load/program.h"
#include "sdk/ops/kernel.h"
#include "vireo/delegate.h"

struct vireo_graph {
  const vireo::Program* program = nullptr;
  uint32_t subgraph = 0;
  const vireo::BoundType* max_types = nullptr;  // one a tensor
  const vireo_graph* all = nullptr;             // views of all subgraphs, by index
  // In a run: the session's tensors, one a tensor of the subgraph, whose extents are shown in place of the bounds.
  const vireo::Tensor* const* now = nullptr;

  const vireo::fb::Subgraph& fb() const { return program->subgraph(subgraph); }
};

struct vireo_runtime;

namespace vireo {

// The table that delegates call. A runtime has one, for as long as it lives.
vireo_host make_host(const vireo_runtime* runtime);

}  // namespace vireo

#endif  // VIREO_RUNTIME_DEVICES_GRAPH_VIEW_H_
