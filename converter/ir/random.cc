#include "converter/ir/random.h"

namespace vireo::ir {
namespace {

// A body is taken whole: a loop may carry what one trip draws into any result of the next.
bool draws(const Node& n) {
  if ((n.def().flags & OpDef::kRandom) != 0) return true;
  for (const auto& body : n.bodies) {
    for (const Node& inner : body->nodes()) {
      if (draws(inner)) return true;
    }
  }
  return false;
}

}  // namespace

std::set<const Value*> random_values(const Graph& g) {
  std::set<const Value*> random;
  for (const Node& n : g.nodes()) {
    bool any = draws(n);
    for (const Value* v : n.inputs) any = any || random.count(v) != 0;
    if (any) random.insert(n.outputs.begin(), n.outputs.end());
    random.erase(nullptr);  // absent operands and unwanted results
  }
  return random;
}

std::vector<bool> random_outputs(const Graph& g) {
  const std::set<const Value*> random = random_values(g);
  std::vector<bool> out;
  for (const Value* v : g.outputs()) out.push_back(random.count(v) != 0);
  return out;
}

}  // namespace vireo::ir
