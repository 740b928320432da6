// Nodes of which codes have 16 bits as calls of delegates/mcu/kernels/wide.h.
#ifndef VIREO_CONVERTER_FIRMWARE_READ_WIDE_H_
#define VIREO_CONVERTER_FIRMWARE_READ_WIDE_H_

#include <string>

#include "converter/firmware/calls.h"
#include "converter/firmware/flat_plan.h"
#include "sdk/graph/node_view.h"

namespace vireo::firmware {

// "": *call is the node's. Else why no kernel takes it, or kUnknownNode: then no code of it has 16 bits.
std::string read_wide(const NodeView& q, const Core& core, Call* call);

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_READ_WIDE_H_
