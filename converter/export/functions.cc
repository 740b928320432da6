// Model-local functions: composites by their bodies, operators that ONNX does not have by their formulas. Functions
// that are equal are one, because constants of any size are handed in.
//
// The other design writes the nodes of a body where the composite stands. Any reader serves it, but it no longer shows
// what was fused; tools inline functions by themselves where they have no better use for them.
#include <algorithm>
#include <utility>

#include "converter/export/writer.h"
#include "sdk/ops/control/control_generated.h"

namespace vireo::exporter {
namespace {

constexpr const char* kDomain = "vireo";

// A function that is being written, and the inputs of its call.
struct Function {
  Function() {
    scope.names = &names;
    scope.nodes = proto.mutable_node();
    scope.function = true;
  }
  Function(const Function&) = delete;  // the scope points into it
  Function& operator=(const Function&) = delete;

  // Numbered, so that functions of one form are equal whatever their values were called.
  const std::string& name(const ir::Value* v, const char* letter, size_t number) {
    return scope.values[v] = names.take(letter + std::to_string(number));
  }
  void add_input(const std::string& inside, std::string outside) {
    proto.add_input(inside);
    inputs.push_back(std::move(outside));
  }

  ::onnx::FunctionProto proto;
  Names names;
  Scope scope;
  std::vector<std::string> inputs;
};

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
  Function f;
  for (size_t i = 0; i < body.inputs().size(); ++i) {
    const std::string& inside = f.name(body.inputs()[i], "x", i);
    if (node.in(i) != nullptr) f.add_input(inside, name(scope, node.in(i)));
  }
  size_t count = 0;
  for (const ir::Node& n : body.nodes()) {
    for (const ir::Value* v : n.outputs) {
      if (v != nullptr) f.name(v, "t", count++);
    }
  }
  if (!write_nodes(f.scope, body)) return false;
  for (const std::string& s : write_outputs(f.scope, body, std::vector<std::string>(body.outputs().size())))
    f.proto.add_output(s);
  call(scope, node, node.attributes<attrs::Composite>().hint()->str(), std::move(f.proto), std::move(f.inputs),
       f.scope);
  return true;
}

bool Writer::write_own(Scope& scope, const ir::Node& node) {
  Function f;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ir::Value* v = node.inputs[i];
    if (v != nullptr && f.scope.values.count(v) == 0) f.add_input(f.name(v, "x", i), name(scope, v));
  }
  f.scope.values[node.out()] = f.names.take("y");
  f.proto.add_output("y");
  if (!write_formula(f.scope, node)) return false;
  call(scope, node, op_name(node.op), std::move(f.proto), std::move(f.inputs), f.scope);
  return true;
}

}  // namespace vireo::exporter
