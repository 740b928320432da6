// What a node cannot do with less of, for a roofline: vireo_node_info.operations and bytes.
#ifndef VIREO_C_API_SRC_NODE_COST_H_
#define VIREO_C_API_SRC_NODE_COST_H_

#include "runtime/run/session.h"

namespace vireo {

struct NodeCost {
  uint64_t operations = 0;
  uint64_t bytes = 0;
};

// Of node `index` of the session's list, at the shapes that its tensors have now. Zeros for a node without a step of
// its own: a composite that runs by its body.
NodeCost node_cost(const vireo_session& session, uint32_t index);

}  // namespace vireo

#endif  // VIREO_C_API_SRC_NODE_COST_H_
