// What a node's time depends on, as a number: see vireo_candidate.
#ifndef VIREO_RUNTIME_PREPARE_NODE_KEY_H_
#define VIREO_RUNTIME_PREPARE_NODE_KEY_H_

#include "vireo/delegate.h"

namespace vireo {

// Never 0. Node `index` of `graph`; of a composite, its body too.
uint64_t node_key(const vireo_host& host, const vireo_graph* graph, uint32_t index);

}  // namespace vireo

#endif  // VIREO_RUNTIME_PREPARE_NODE_KEY_H_
