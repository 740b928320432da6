// Model-local functions: composites by their bodies, operators that ONNX does not have by their formulas. Functions
// that are equal are one, because constants of any size are handed in.
//
// The other design writes the nodes of a body where the composite stands. Any reader serves it, but it no longer shows
// what was fused; tools inline functions by themselves where they have no better use for them.
#include <algorithm>

#include "converter/export/writer.h"
#include "sdk/ops/control/control_generated.h"

namespace vireo::exporter {
namespace {

constexpr const char* kDomain = "vireo";

}  // namespace

void Writer::call(Scope& scope, const ir::Node& node, const std::string& stem, ::onnx::FunctionProto function,
                  std::vector<std::string> inputs, const Scope& inner) {
  for (size_t i = 0; i < inner.handed_in.size(); ++i) {
    function.add_input(inner.parameters[i]);
    inputs.push_back(
        constant(scope, inner.handed_in[i], (node.name.empty() ? stem : node.name) + "/" + inner.parameters[i]));
  }
  // A parameter that the formula has no use for, because its contents decided what is written.
  for (int i = function.input_size() - 1; i >= 0; --i) {
    const auto uses = [&](const auto& list) {
      return std::find(list.begin(), list.end(), function.input(i)) != list.end();
    };
    const auto& nodes = function.node();
    if (uses(function.output()) ||
        std::any_of(nodes.begin(), nodes.end(), [&](const auto& n) { return uses(n.input()); }))
      continue;
    function.mutable_input()->DeleteSubrange(i, 1);
    inputs.erase(inputs.begin() + i);
  }
  function.set_domain(kDomain);
  std::string& known = functions_[stem + "\n" + function.SerializeAsString()];
  if (known.empty()) {
    const int count = ++function_count_[stem];
    known = count == 1 ? stem : stem + "_" + std::to_string(count);
    function.set_name(known);
    *model_.add_functions() = std::move(function);
  }
  OnnxNode n;
  n.type = known;
  n.domain = kDomain;
  n.inputs = std::move(inputs);
  n.outputs = all_results(scope, node);
  add(scope, node.name, n);
}

bool Writer::write_composite(Scope& scope, const ir::Node& node) {
  const ir::Graph& body = *node.bodies[0];
  ::onnx::FunctionProto function;
  Names names;
  Scope inner;
  inner.names = &names;
  inner.nodes = function.mutable_node();
  inner.function = true;
  std::vector<std::string> inputs;
  for (size_t i = 0; i < body.inputs().size(); ++i) {
    const ir::Value* v = body.inputs()[i];
    // Numbered, so that functions of one form are equal whatever their values were called.
    inner.values[v] = names.take("x" + std::to_string(i));
    if (node.in(i) == nullptr) continue;
    function.add_input(inner.values[v]);
    inputs.push_back(name(scope, node.in(i)));
  }
  // Likewise what is inside.
  size_t count = 0;
  for (const ir::Node& n : body.nodes()) {
    for (const ir::Value* v : n.outputs) {
      if (v != nullptr) inner.values[v] = names.take("t" + std::to_string(count++));
    }
  }
  if (!write_nodes(inner, body)) return false;
  for (const std::string& s : write_outputs(inner, body, std::vector<std::string>(body.outputs().size())))
    function.add_output(s);
  call(scope, node, node.attributes<attrs::Composite>().hint()->str(), std::move(function), std::move(inputs), inner);
  return true;
}

bool Writer::write_own(Scope& scope, const ir::Node& node) {
  ::onnx::FunctionProto function;
  Names names;
  Scope inner;
  inner.names = &names;
  inner.nodes = function.mutable_node();
  inner.function = true;
  std::vector<std::string> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ir::Value* v = node.inputs[i];
    if (v == nullptr || inner.values.count(v) != 0) continue;
    inner.values[v] = names.take("x" + std::to_string(i));
    function.add_input(inner.values[v]);
    inputs.push_back(name(scope, v));
  }
  inner.values[node.out()] = names.take("y");
  function.add_output("y");
  if (!write_formula(inner, node)) return false;
  call(scope, node, op_name(node.op), std::move(function), std::move(inputs), inner);
  return true;
}

}  // namespace vireo::exporter
