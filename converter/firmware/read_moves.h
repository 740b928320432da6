// Nodes that only move elements as calls of delegates/mcu/kernels/moves.h, whatever their type.
#ifndef VIREO_CONVERTER_FIRMWARE_READ_MOVES_H_
#define VIREO_CONVERTER_FIRMWARE_READ_MOVES_H_

#include <string>
#include <vector>

#include "converter/firmware/calls.h"
#include "sdk/graph/node_view.h"
#include "sdk/ops/shared/strided.h"

namespace vireo::firmware {

// A call that makes `to` of the shape y from a strided view of x, element for element. "", or why not.
std::string make_move(int32_t x, int32_t to, DType type, const Shape& y, const StridedView& from,
                      std::vector<Call>* calls);

// "": *calls are the node's, one an output. Else why no kernel takes it, or kUnknownNode.
std::string read_moves(const NodeView& q, std::vector<Call>* calls);

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_READ_MOVES_H_
