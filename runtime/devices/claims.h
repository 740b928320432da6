// Asks a device which nodes of a graph it claims.
#ifndef VIREO_RUNTIME_DEVICES_CLAIMS_H_
#define VIREO_RUNTIME_DEVICES_CLAIMS_H_

#include "runtime/devices/runtime.h"

namespace vireo {

// What a delegate's answers go to; see vireo_claims.
struct Claimant {
  void* context;
  vireo_status (*take)(void* context, const vireo_claim* claim);
  vireo_status (*leave)(void* context, uint32_t node, const char* reason);
};
// Names the device where it fails to look at the graph.
Status ask_claims(const Device& device, const vireo_host& host, const vireo_graph& graph, vireo_math math,
                  const Claimant& claimant, Error* error);

// A claim as this header knows it, `said` or a copy in `room`. Null where it names no node of `nodes`, or has what is
// not known here.
const vireo_claim* read_claim(const vireo_claim* said, uint32_t nodes, vireo_claim* room, Error* error);

}  // namespace vireo

#endif  // VIREO_RUNTIME_DEVICES_CLAIMS_H_
