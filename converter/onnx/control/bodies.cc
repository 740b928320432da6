#include "converter/onnx/control/bodies.h"

#include <algorithm>
#include <utility>

#include "converter/onnx/bundles/bundle.h"
#include "converter/onnx/names.h"
#include "converter/onnx/report.h"
#include "converter/onnx/scope.h"
#include "converter/onnx/state.h"
#include "converter/onnx/wide.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/kernel.h"

namespace vireo::importer {
namespace {

bool makes_text(const ir::Graph& g) {
  for (const ir::Node& n : g.nodes()) {
    const RefKernel* kernel = find_ref(n.op);
    const ir::Value* y = n.outputs.empty() ? nullptr : n.outputs[0];
    if (kernel != nullptr && kernel->text_bytes != nullptr && y != nullptr && y->type.dtype == DType::kString)
      return true;
    for (const auto& body : n.bodies) {
      if (makes_text(*body)) return true;
    }
  }
  return false;
}

}  // namespace

bool import_body(const Tools& tools, Scope& scope, const ::onnx::NodeProto& node, ::onnx::GraphProto& proto,
                 const std::vector<TensorType>& inputs, Body* body) {
  body->graph = std::make_unique<ir::Graph>(tools.state.dims);
  body->graph->name = proto.name();
  body->outer.clear();
  if (scope.depth >= 32) {
    tools.report.record(node, &scope, Code::kBadNode, "control flow is nested more than 32 deep");
    return false;
  }
  Scope inner = scope.inside(body->graph.get(), node_name(node, &scope) + "/");
  inner.may_not_run = scope.may_not_run || node.op_type() == "If";
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = proto.input(static_cast<int>(i)).name();
    inner.names[name] = body->graph->add_input(name, inputs[i]);
  }
  const size_t errors = tools.state.diagnostics.error_count();
  tools.names.add_initializers(inner, proto);
  tools.nodes.import_nodes(inner, *proto.mutable_node(), result_names(proto));
  for (const auto& info : proto.output()) {
    ir::Value* v = tools.names.lookup(inner, info.name());
    if (v == nullptr) {
      tools.report.record(node, &scope, Code::kMissingValue,
                          "nothing makes the output \"" + info.name() + "\" of its body \"" + proto.name() + "\"");
    }
    if (v == nullptr || v == &tools.state.poison) return false;
    if (const WideTensor* w = tools.wides.find(v)) {
      refuse_wide(tools, scope, node, "the output \"" + info.name() + "\" of its body", *w);
      return false;
    }
    if (tools.bundles.find(v) != nullptr) {
      tools.report.record(node, &scope, Code::kUnsupportedNode,
                          "the output \"" + info.name() + "\" of its body is " + kind(*tools.bundles.find(v)) +
                              ", and is not declared as one",
                          tools.bundles.find(v)->map ? "control flow hands on no maps: make tensors of them inside"
                                                     : "declare the type of the body's output");
      return false;
    }
    body->graph->add_output(v, info.name());
  }
  for (const auto& [outer, value] : inner.captured) body->outer.push_back(outer);
  return tools.state.diagnostics.error_count() == errors;
}

bool inline_graph(const Tools& tools, Scope& scope, const ::onnx::NodeProto& node, ::onnx::GraphProto& proto,
                  const std::string& prefix, const std::vector<ir::Value*>& inputs, std::vector<ir::Value*>* outputs) {
  if (scope.depth >= 64) {
    tools.report.record(node, &scope, Code::kBadNode, "control flow is nested more than 64 deep");
    return false;
  }
  Scope inner = scope.inside(scope.graph, prefix);
  for (size_t i = 0; i < inputs.size(); ++i) inner.names[proto.input(static_cast<int>(i)).name()] = inputs[i];
  tools.names.add_initializers(inner, proto);
  tools.nodes.import_nodes(inner, *proto.mutable_node(), result_names(proto));
  outputs->clear();
  for (const auto& output : proto.output()) {
    ir::Value* v = tools.names.lookup(inner, output.name());
    if (v == nullptr) {
      tools.report.record(node, &scope, Code::kMissingValue,
                          "nothing makes the output \"" + output.name() + "\" of its branch");
      v = &tools.state.poison;
    }
    outputs->push_back(v);
  }
  return true;
}

bool keeps_text(const ir::Graph& body) {
  const auto& outputs = body.outputs();
  return std::any_of(outputs.begin(), outputs.end(),
                     [](const ir::Value* v) { return v->type.dtype == DType::kString; }) &&
         makes_text(body);
}

DType whole_bytes(DType t) {
  if (dtype_bits(t) >= 8) return t;
  return dtype_is_float(t) ? DType::kF32 : dtype_is_signed(t) ? DType::kI8 : DType::kU8;
}

ir::Value* cast_to(ir::Graph& g, ir::Value* v, DType to, ir::Node* before) {
  if (v->type.dtype == to) return v;
  attrs::CastT a;
  a.to = static_cast<uint8_t>(to);
  ir::Node* n = g.add_node(Op::kCast, pack<attrs::Cast>(a), {v}, 1, before);
  n->outputs[0]->type = {to, v->type.shape};
  return n->outputs[0];
}

void take_whole_bytes(ir::Graph& body, size_t i) {
  ir::Value* v = body.inputs()[i];
  const DType packed = v->type.dtype, whole = whole_bytes(packed);
  if (whole == packed) return;
  v->type.dtype = whole;
  ir::Value* inner = cast_to(body, v, packed, body.nodes().empty() ? nullptr : &body.nodes().front());
  body.replace_uses(v, inner);
  body.set_input(inner->producer, 0, v);
}

void give_whole_bytes(ir::Graph& body, size_t o) {
  ir::Value* v = body.outputs()[o];
  body.set_output(o, cast_to(body, v, whole_bytes(v->type.dtype)));
}

bool stack_slices(const ir::DimTable& dims, const TensorType& slice, Dim length, TensorType* out,
                  std::string* message) {
  if (slice.shape.rank == kMaxRank) {
    *message = "a scanned output would have more than 8 dimensions";
    return false;
  }
  *out = {whole_bytes(slice.dtype), {}};
  out->shape.rank = slice.shape.rank + 1;
  out->shape[0] = length;
  for (int d = 0; d < slice.shape.rank; ++d) out->shape[d + 1] = slice.shape[d];
  return ir::check_type(dims, *out, message);
}

}  // namespace vireo::importer
