#include "converter/ir/random.h"

namespace vireo::ir {
namespace {

// A body is taken whole: a loop may carry what one trip makes into any result of the next.
bool has(const Node& n, const std::function<bool(const Node&)>& property) {
  if (property(n)) return true;
  for (const auto& body : n.bodies) {
    for (const Node& inner : body->nodes()) {
      if (has(inner, property)) return true;
    }
  }
  return false;
}

}  // namespace

std::set<const Value*> values_behind(const Graph& g, const std::function<bool(const Node&)>& property) {
  std::set<const Value*> behind;
  for (const Node& n : g.nodes()) {
    bool any = has(n, property);
    for (const Value* v : n.inputs) any = any || behind.count(v) != 0;
    if (any) behind.insert(n.outputs.begin(), n.outputs.end());
    behind.erase(nullptr);  // absent operands and unwanted results
  }
  return behind;
}

std::set<const Value*> random_values(const Graph& g) {
  return values_behind(g, [](const Node& n) { return (n.def().flags & OpDef::kRandom) != 0; });
}

std::vector<bool> random_outputs(const Graph& g) {
  const std::set<const Value*> random = random_values(g);
  std::vector<bool> out;
  for (const Value* v : g.outputs()) out.push_back(random.count(v) != 0);
  return out;
}

}  // namespace vireo::ir
