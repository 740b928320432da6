// Which device makes each value of a subgraph.
#ifndef VIREO_RUNTIME_EXPLAIN_MAKERS_H_
#define VIREO_RUNTIME_EXPLAIN_MAKERS_H_

#include <string.h>

#include "runtime/prepare/layout.h"

namespace vireo {

// `maker`: one a tensor of the subgraph. kNoDevice: the caller, control flow, a composite run by its body, constants.
inline void find_makers(const SessionLayout& l, uint32_t subgraph, uint8_t* maker) {
  const SubLayout& s = l.subs[subgraph];
  memset(maker, kNoDevice, s.tensor_count);
  for (uint32_t n = 0; n < s.node_count; ++n) {
    for (const int32_t y : *l.graph(subgraph).nodes()->Get(n)->outputs()) {
      if (y >= 0) maker[y] = s.nodes[n].device;
    }
  }
}

}  // namespace vireo

#endif  // VIREO_RUNTIME_EXPLAIN_MAKERS_H_
