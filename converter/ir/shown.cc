#include "converter/ir/shown.h"

#include "sdk/ops/control/control_generated.h"

namespace vireo::ir {
namespace {

int32_t number_of_value(const Value* v) { return v == nullptr ? -1 : static_cast<int32_t>(v->id); }

std::vector<int32_t> numbers_of_values(const std::vector<Value*>& values) {
  std::vector<int32_t> numbers;
  for (const Value* v : values) numbers.push_back(number_of_value(v));
  return numbers;
}

const void* shown_bytes(const Value& v) { return v.constant == nullptr ? nullptr : v.constant->tensor.bytes.data(); }

const ShownComposite::Body& shown_body(const vireo_graph* graph) {
  return *reinterpret_cast<const ShownComposite::Body*>(graph);
}

uint32_t show_node_count(const vireo_graph* graph) { return static_cast<uint32_t>(shown_body(graph).nodes.size()); }
// Ids begin at 1, so that number 0 is none.
uint32_t show_value_count(const vireo_graph* graph) {
  return static_cast<uint32_t>(shown_body(graph).graph->values().size()) + 1;
}

vireo_status show_node(const vireo_graph* graph, uint32_t index, vireo_graph_node* out) {
  const ShownComposite::Body& body = shown_body(graph);
  if (index >= body.nodes.size()) return VIREO_INVALID_ARGUMENT;
  const Node& n = *body.nodes[index];
  out->op = static_cast<uint16_t>(n.op);
  out->version = n.version;
  out->attrs = n.attrs.data();
  out->attrs_size = n.attrs.size();
  out->inputs = body.inputs[index].data();
  out->input_count = static_cast<uint32_t>(body.inputs[index].size());
  out->outputs = body.outputs[index].data();
  out->output_count = static_cast<uint32_t>(body.outputs[index].size());
  out->name = n.name.c_str();
  return VIREO_OK;
}

vireo_status show_value(const vireo_graph* graph, uint32_t number, vireo_graph_value* out) {
  const std::deque<Value>& values = shown_body(graph).graph->values();
  if (number == 0 || number > values.size()) return VIREO_INVALID_ARGUMENT;
  const Value& v = values[number - 1];
  const Shape& shape = v.type.shape;
  out->dtype = static_cast<vireo_dtype>(v.type.dtype);
  out->is_static = shape.is_static() ? 1 : 0;
  out->rank = shape.rank;
  for (int i = 0; i < shape.rank; ++i) out->max_dims[i] = shape[i];
  out->constant = shown_bytes(v);
  out->constant_size = v.constant == nullptr ? 0 : v.constant->tensor.bytes.size();
  out->name = v.name.c_str();
  return VIREO_OK;
}

uint32_t show_input_count(const vireo_graph* graph) {
  return static_cast<uint32_t>(shown_body(graph).graph->inputs().size());
}
int32_t show_input(const vireo_graph* graph, uint32_t i) {
  return number_of_value(shown_body(graph).graph->inputs()[i]);
}
uint32_t show_output_count(const vireo_graph* graph) {
  return static_cast<uint32_t>(shown_body(graph).graph->outputs().size());
}
int32_t show_output(const vireo_graph* graph, uint32_t i) {
  return number_of_value(shown_body(graph).graph->outputs()[i]);
}

// Members that are not named here are NULL: matchers only read.
vireo_host reading_host() {
  vireo_host h = {};
  h.struct_size = sizeof(h);
  h.abi = VIREO_DELEGATE_ABI;
  h.node_count = show_node_count;
  h.value_count = show_value_count;
  h.node = show_node;
  h.value = show_value;
  h.input_count = show_input_count;
  h.input = show_input;
  h.output_count = show_output_count;
  h.output = show_output;
  return h;
}
const vireo_host kReadingHost = reading_host();

GraphValue shown_value(const Value* v) {
  return v == nullptr ? GraphValue{} : GraphValue{v->type, v->type.shape.is_static(), shown_bytes(*v)};
}

}  // namespace

ShownComposite::ShownComposite(const Node& composite)
    : inputs_(numbers_of_values(composite.inputs)), outputs_(numbers_of_values(composite.outputs)) {
  body_.graph = composite.bodies.front().get();
  for (const Node& n : body_.graph->nodes()) {
    body_.nodes.push_back(&n);
    body_.inputs.push_back(numbers_of_values(n.inputs));
    body_.outputs.push_back(numbers_of_values(n.outputs));
  }
  view_.host = &kReadingHost;
  view_.op = composite.op;
  vireo_graph_node& n = view_.node;
  n.struct_size = sizeof(n);
  n.op = static_cast<uint16_t>(composite.op);
  n.version = composite.version;
  n.inputs = inputs_.data();
  n.input_count = static_cast<uint32_t>(inputs_.size());
  n.outputs = outputs_.data();
  n.output_count = static_cast<uint32_t>(outputs_.size());
  n.body = reinterpret_cast<const vireo_graph*>(&body_);
  n.hint = composite.attributes<attrs::Composite>().hint()->c_str();
  n.name = composite.name.c_str();
  for (size_t i = 0; i < composite.inputs.size() && i < kMaxNodeArgs; ++i)
    view_.inputs[view_.input_count++] = shown_value(composite.inputs[i]);
  for (size_t o = 0; o < composite.outputs.size() && o < kMaxNodeArgs; ++o)
    view_.outputs[view_.output_count++] = shown_value(composite.outputs[o]);
}

}  // namespace vireo::ir
