#include "quant/int8/unnamed.h"

#include <algorithm>
#include <set>

namespace vireo::quant {

void Unnamed::run(ir::Graph& graph, PassLog& log) {
  std::set<const ir::Value*> kept(graph.inputs().begin(), graph.inputs().end());
  kept.insert(graph.outputs().begin(), graph.outputs().end());
  for (ir::Node& n : graph.nodes()) {
    for (const std::vector<ir::Value*>* values : {&n.inputs, &n.outputs}) {
      for (ir::Value* v : *values) {
        if (v == nullptr || v->name.empty() || kept.count(v) != 0) continue;
        v->name.clear();
        log.changed();
      }
    }
  }
}

}  // namespace vireo::quant
