// If, Loop and Scan (sdk/ops/control/control.fbs states the calling convention): what a body gets from outside behind
// its own inputs is captured by name, as ONNX has it.
#include "converter/export/writer.h"
#include "sdk/ops/control/control_generated.h"
#include "sdk/ops/shared/strict_export.h"

namespace vireo::exporter {

bool Writer::write_body(Scope& scope, const ir::Node& node, const ir::Graph& body, size_t own, size_t captured,
                        ::onnx::GraphProto* proto) {
  // A subgraph's names must differ from all around it; values of other bodies stay out of sight, but that is no gain.
  Scope inner;
  inner.names = scope.names;
  inner.nodes = proto->mutable_node();
  inner.function = scope.function;
  if (scope.function) {
    refuse(node, "control flow inside a fused node", "convert with --no-optimize and --emit-onnx");
    return false;
  }
  proto->set_name(names_.take_node(body.name.empty() ? "body" : body.name));
  for (size_t i = 0; i < body.inputs().size(); ++i) {
    const ir::Value* v = body.inputs()[i];
    if (i >= own) {
      inner.values[v] = name(scope, node.in(captured + i - own));
      continue;
    }
    inner.values[v] = scope.names->take(v->name.empty() ? "input" : v->name);
    declare(body, *v, inner.values[v], proto->add_input());
  }
  if (!write_nodes(inner, body)) return false;
  const std::vector<std::string> outputs = write_outputs(inner, body, std::vector<std::string>(body.outputs().size()));
  for (size_t i = 0; i < outputs.size(); ++i) declare(body, *body.outputs()[i], outputs[i], proto->add_output());
  return true;
}

namespace {

::onnx::GraphProto* add_graph(::onnx::NodeProto* node, const char* attribute) {
  ::onnx::AttributeProto* a = node->add_attribute();
  a->set_name(attribute);
  a->set_type(::onnx::AttributeProto::GRAPH);
  return a->mutable_g();
}

}  // namespace

// A condition or a count may be a list of one; ONNX's checker wants what its body gets, which is a number.
std::string Writer::number(Scope& scope, const ir::Node& node, size_t i) {
  NodeExport context(*this, scope, node);
  return one_number(context, static_cast<int>(i));
}

bool Writer::write_if(Scope& scope, const ir::Node& node) {
  // The bodies are written first: their constants and names do not care, and the node is not copied when it is done.
  ::onnx::NodeProto n;
  bool good = true;
  for (size_t i = 0; i < 2; ++i)
    good =
        write_body(scope, node, *node.bodies[i], 0, 1, add_graph(&n, i == 0 ? "then_branch" : "else_branch")) && good;
  OnnxNode shell;
  shell.type = "If";
  shell.inputs = {number(scope, node, 0)};
  shell.outputs = all_results(scope, node);
  add(scope, node.name, shell);
  (scope.nodes->end() - 1)->mutable_attribute()->Swap(n.mutable_attribute());
  return good;
}

bool Writer::write_loop(Scope& scope, const ir::Node& node) {
  const auto& a = node.attributes<attrs::Loop>();
  const size_t carried = a.carried();
  ::onnx::NodeProto n;
  if (!write_body(scope, node, *node.bodies[0], 2 + carried, 2 + carried, add_graph(&n, "body"))) return false;
  OnnxNode shell;
  shell.type = "Loop";
  for (size_t i = 0; i < 2 + carried; ++i)
    shell.inputs.push_back(i < 2 ? number(scope, node, i) : name(scope, node.in(i)));
  shell.outputs = all_results(scope, node);
  add(scope, node.name, shell);
  (scope.nodes->end() - 1)->mutable_attribute()->Swap(n.mutable_attribute());
  return true;
}

bool Writer::write_scan(Scope& scope, const ir::Node& node) {
  const auto& a = node.attributes<attrs::Scan>();
  const size_t own = a.carried() + a.scanned_in();
  ::onnx::NodeProto n;
  if (!write_body(scope, node, *node.bodies[0], own, own, add_graph(&n, "body"))) return false;
  OnnxNode shell;
  shell.type = "Scan";
  for (size_t i = 0; i < own; ++i) shell.inputs.push_back(name(scope, node.in(i)));
  shell.outputs = all_results(scope, node);
  shell.number("num_scan_inputs", a.scanned_in());
  shell.numbers("scan_input_axes", a.in_axes()).numbers("scan_input_directions", a.in_reverse());
  shell.numbers("scan_output_axes", a.out_axes()).numbers("scan_output_directions", a.out_reverse());
  add(scope, node.name, shell);
  (scope.nodes->end() - 1)->mutable_attribute()->MergeFrom(n.attribute());
  return true;
}

}  // namespace vireo::exporter
