#include "quant/int8/unnamed.h"

#include <algorithm>
#include <set>
#include <string>

namespace vireo::quant {

void name_values(ir::Graph& graph) {
  std::set<std::string> taken;
  for (const ir::Value& v : graph.values()) taken.insert(v.name);
  for (ir::Node& n : graph.nodes()) {
    for (ir::Value* v : n.outputs) {
      if (v == nullptr || !v->name.empty()) continue;
      const std::string base = (n.name.empty() ? std::string(op_name(n.op)) : n.name) + "_result";
      v->name = base;
      for (int i = 2; !taken.insert(v->name).second; ++i) v->name = base + std::to_string(i);
    }
  }
}

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
