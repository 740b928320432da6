// Which device takes each node: the devices' offers, the list of the session's options, and its wishes.
#ifndef VIREO_RUNTIME_PREPARE_CLAIM_H_
#define VIREO_RUNTIME_PREPARE_CLAIM_H_

#include "runtime/prepare/layout.h"

namespace vireo {

// The options' list of devices.
const char* devices_of(const vireo_session_options& options);
// Whether it holds this one.
bool session_may_use(const vireo_session_options& options, const Device& device);

// Names a device of the list that is not here (kUnsupported).
Status check_devices(const vireo_runtime& rt, const vireo_session_options& options, Error* error);

// Fills SubLayout::nodes, and seconds; what their parts take is in the layout's scratch. Names a node that no device
// takes (kUnsupported). Owners are claimed before their bodies.
Status claim_nodes(SessionLayout& layout, uint32_t subgraph, const vireo_session_options& options, Error* error);

}  // namespace vireo

#endif  // VIREO_RUNTIME_PREPARE_CLAIM_H_
