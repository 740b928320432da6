#include "quant/calibrate/room.h"

#include <utility>

#include "converter/ir/on_disk.h"

namespace vireo::quant {

bool make_room(ir::Graph& graph, uint64_t memory) {
  constexpr uint64_t kPart = 4;
  return memory != 0 && memory / kPart < ir::bytes_in_memory(graph) && ir::move_to_disk(graph);
}

std::function<uint64_t()> held_besides(std::vector<const ir::Graph*> graphs, const std::function<uint64_t()>& held) {
  if (!held) return {};
  return [graphs = std::move(graphs), &held] {
    for (const ir::Graph* g : graphs) ir::forget_pages(*g);
    return held();
  };
}

}  // namespace vireo::quant
