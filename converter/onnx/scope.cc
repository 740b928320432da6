#include "converter/onnx/scope.h"

namespace vireo::importer {

Scope Scope::inside(ir::Graph* inner_graph, std::string inner_prefix) {
  Scope inner;
  inner.graph = inner_graph;
  inner.outer = this;
  inner.opsets = opsets;
  inner.arguments = arguments;
  inner.prefix = std::move(inner_prefix);
  inner.depth = depth + 1;
  inner.may_not_run = may_not_run;
  return inner;
}

std::string node_name(const ::onnx::NodeProto& node, const Scope* scope) {
  std::string name = node.name();
  for (int i = 0; name.empty() && i < node.output_size(); ++i) name = node.output(i);
  return scope == nullptr ? name : scope->prefix + name;
}

const ::onnx::AttributeProto* find_attribute(const ::onnx::NodeProto& node, const Scope& scope, std::string_view name) {
  for (const auto& a : node.attribute()) {
    if (a.name() != name) continue;
    if (a.ref_attr_name().empty()) return &a;
    if (scope.arguments == nullptr) return nullptr;
    const auto it = scope.arguments->find(a.ref_attr_name());
    return it == scope.arguments->end() ? nullptr : it->second;
  }
  return nullptr;
}

int64_t int_attribute(const ::onnx::NodeProto& node, const Scope& scope, std::string_view name, int64_t otherwise) {
  const ::onnx::AttributeProto* a = find_attribute(node, scope, name);
  return a == nullptr ? otherwise : a->i();
}

std::vector<int64_t> ints_attribute(const ::onnx::NodeProto& node, const Scope& scope, std::string_view name) {
  const ::onnx::AttributeProto* a = find_attribute(node, scope, name);
  if (a == nullptr) return {};
  return {a->ints().begin(), a->ints().end()};
}

}  // namespace vireo::importer
