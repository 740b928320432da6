#include "converter/ir/shown.h"

#include "sdk/graph/graph_host.h"
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

// Ids of values begin at 1, so that number 0 is none.
class View {
 public:
  explicit View(const vireo_graph* graph) : body_(*reinterpret_cast<const ShownComposite::Body*>(graph)) {}

  uint32_t node_count() const { return static_cast<uint32_t>(body_.nodes.size()); }
  uint32_t value_count() const { return static_cast<uint32_t>(body_.graph->values().size()) + 1; }
  uint32_t input_count() const { return static_cast<uint32_t>(body_.graph->inputs().size()); }
  uint32_t output_count() const { return static_cast<uint32_t>(body_.graph->outputs().size()); }
  int32_t input(uint32_t i) const { return number_of_value(body_.graph->inputs()[i]); }
  int32_t output(uint32_t i) const { return number_of_value(body_.graph->outputs()[i]); }

  void node(uint32_t index, vireo_graph_node* out) const {
    const Node& n = *body_.nodes[index];
    out->op = static_cast<uint16_t>(n.op);
    out->version = n.version;
    out->attrs = n.attrs.data();
    out->attrs_size = n.attrs.size();
    out->inputs = body_.inputs[index].data();
    out->input_count = static_cast<uint32_t>(body_.inputs[index].size());
    out->outputs = body_.outputs[index].data();
    out->output_count = static_cast<uint32_t>(body_.outputs[index].size());
    out->body = nullptr;
    out->hint = nullptr;
    out->name = n.name.c_str();
  }

  void value(uint32_t number, vireo_graph_value* out) const {
    const uint32_t size = out->struct_size;
    *out = {};
    out->struct_size = size;
    if (number == 0) return;  // a value without a type
    const Value& v = body_.graph->values()[number - 1];
    const Shape& shape = v.type.shape;
    out->dtype = static_cast<vireo_dtype>(v.type.dtype);
    out->is_static = shape.is_static() ? 1 : 0;
    out->rank = shape.rank;
    for (int i = 0; i < shape.rank; ++i) out->max_dims[i] = shape[i];
    out->constant = shown_bytes(v);
    out->constant_size = v.constant == nullptr ? 0 : v.constant->tensor.bytes.size();
    out->name = v.name.c_str();
  }

 private:
  const ShownComposite::Body& body_;
};

// Without log and allocator: matchers only read.
const vireo_host kReadingHost = graph_host<View>();

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
