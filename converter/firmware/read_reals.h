// Nodes of float32 as calls of delegates/mcu/kernels/reals.h.
#ifndef VIREO_CONVERTER_FIRMWARE_READ_REALS_H_
#define VIREO_CONVERTER_FIRMWARE_READ_REALS_H_

#include <string>

#include "converter/firmware/calls.h"
#include "sdk/graph/node_view.h"

namespace vireo::firmware {

// "": *call is the node's. Else why no kernel takes it, or kUnknownNode.
std::string read_reals(const NodeView& q, MadeValues* made, Call* call);

// Lets a product clamp its own results, where `call` is what clamps them: Relu or Clip. False where it is not.
bool clamp_in_product(const Call& call, Call* product);

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_READ_REALS_H_
