// Memory for passes over sample data: where a graph's weights lie meanwhile, and what the program holds beside them.
#ifndef VIREO_QUANT_CALIBRATE_ROOM_H_
#define VIREO_QUANT_CALIBRATE_ROOM_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "converter/ir/graph.h"

namespace vireo::quant {

// A pass has the weights that it runs with. Where they are much of the ceiling `memory` (0: none), the graph's lie on
// the disk, and true is returned; in memory where the disk does not take them.
bool make_room(ir::Graph& graph, uint64_t memory);

// `held` without what can be read again from the disk: constants of `graphs`. Empty where `held` is. Both outlive it.
std::function<uint64_t()> held_besides(std::vector<const ir::Graph*> graphs, const std::function<uint64_t()>& held);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_CALIBRATE_ROOM_H_
