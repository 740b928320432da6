#include "converter/ir/interpret.h"

#include <map>

#include "converter/ir/infer.h"

namespace vireo::ir {

bool interpret(const Graph& g, const std::vector<ConstantPtr>& inputs, std::vector<ConstantPtr>* outputs,
               std::string* error) {
  if (inputs.size() != g.inputs().size()) {
    *error = "wanted " + std::to_string(g.inputs().size()) + " inputs";
    return false;
  }
  std::map<const Value*, ConstantPtr> values{{nullptr, nullptr}};
  for (size_t i = 0; i < inputs.size(); ++i) values[g.inputs()[i]] = inputs[i];
  const auto get = [&](const Value* v) { return v != nullptr && v->constant != nullptr ? v->constant : values[v]; };
  for (const Node& n : g.nodes()) {
    std::vector<ConstantPtr> in, out;
    for (const Value* v : n.inputs) in.push_back(get(v));
    const bool good = n.op == Op::kComposite ? interpret(*n.bodies[0], in, &out, error)
                                             : evaluate_node(n, in, INT64_MAX, &out, error);
    if (!good) {
      *error = std::string(op_name(n.op)) + " \"" + n.name + "\": " + *error;
      return false;
    }
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      if (n.outputs[i] != nullptr) values[n.outputs[i]] = out[i];
    }
  }
  outputs->clear();
  for (const Value* v : g.outputs()) outputs->push_back(get(v));
  return true;
}

}  // namespace vireo::ir
