#include "converter/onnx/survey.h"

#include "converter/onnx/advice.h"
#include "converter/onnx/reproduce.h"
#include "converter/onnx/scope.h"
#include "converter/onnx/state.h"

namespace vireo::importer {

void Survey::look_at(const Nodes& nodes, const Served& served, int depth) {
  if (depth > kMostNested) return;
  for (const auto& node : nodes) {
    const std::string domain = plain_domain(node.domain());
    const std::string& op = node.op_type();
    for (const auto& a : node.attribute()) {
      if (a.has_g()) look_at(a.g().node(), served, depth + 1);
    }
    if (const ::onnx::FunctionProto* function = state_.function(domain, op, node.overload())) {
      // One that is met too deep is looked at where it is met again.
      if (depth < kMostNested && looked_at_.insert(function).second) look_at(function->node(), served, depth + 1);
    } else if (!served(domain, op)) {
      unknown_[{domain, op}].nodes.push_back(node_name(node, nullptr));
    }
  }
}

void Survey::take(const Served& served) {
  look_at(state_.model.graph().node(), served, 0);
  for (auto& [key, unknown] : unknown_) {
    const std::vector<std::string>& nodes = unknown.nodes;
    Diagnostic d;
    d.code = Code::kUnknownOperator;
    d.what = "operator " + key.second + " of " + domain_text(key.first) + " is not known, used by " +
             std::to_string(nodes.size()) + (nodes.size() == 1 ? " node: " : " nodes: ") + names_text(nodes, 3);
    d.help = unknown_operator_advice(key.first, key.second);
    unknown.diagnostic = state_.diagnostics.all().size();
    state_.diagnostics.add(std::move(d));
  }
}

bool Survey::lacks(const ::onnx::NodeProto& node, const Scope& scope) {
  const auto at = unknown_.find({plain_domain(node.domain()), node.op_type()});
  if (at == unknown_.end()) return false;
  Unknown& unknown = at->second;
  if (!unknown.described) reproducer_.describe(node, scope, &state_.diagnostics.at(unknown.diagnostic));
  unknown.described = true;
  return true;
}

}  // namespace vireo::importer
