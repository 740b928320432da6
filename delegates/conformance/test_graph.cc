#include "delegates/conformance/test_graph.h"

namespace vireo {
namespace {

uint32_t node_count(const vireo_graph* g) { return static_cast<uint32_t>(g->nodes.size()); }
uint32_t value_count(const vireo_graph* g) { return static_cast<uint32_t>(g->values.size()); }

vireo_status node(const vireo_graph* g, uint32_t index, vireo_graph_node* out) {
  if (index >= g->nodes.size()) return VIREO_INVALID_ARGUMENT;
  const TestNode& n = g->nodes[index];
  out->op = n.op;
  out->version = 1;
  out->attrs = reinterpret_cast<const uint8_t*>(n.attrs.data());
  out->attrs_size = n.attrs_size;
  out->inputs = n.inputs.data();
  out->input_count = static_cast<uint32_t>(n.inputs.size());
  out->outputs = n.outputs.data();
  out->output_count = static_cast<uint32_t>(n.outputs.size());
  out->body = n.body.get();
  out->hint = nullptr;
  out->name = n.name.c_str();
  return VIREO_OK;
}

vireo_status value(const vireo_graph* g, uint32_t number, vireo_graph_value* out) {
  if (number >= g->values.size()) return VIREO_INVALID_ARGUMENT;
  const TestValue& v = g->values[number];
  out->dtype = static_cast<vireo_dtype>(v.type.dtype);
  out->is_static = 1;
  out->rank = v.type.shape.rank;
  for (int i = 0; i < VIREO_MAX_RANK; ++i) out->max_dims[i] = i < v.type.shape.rank ? v.type.shape[i] : 0;
  out->constant = v.constant;
  out->constant_size = v.constant_size;
  out->name = "";
  return VIREO_OK;
}

int32_t at(const std::vector<int32_t>& list, uint32_t i) { return i < list.size() ? list[i] : -1; }
uint32_t input_count(const vireo_graph* g) { return static_cast<uint32_t>(g->inputs.size()); }
int32_t input(const vireo_graph* g, uint32_t i) { return at(g->inputs, i); }
uint32_t output_count(const vireo_graph* g) { return static_cast<uint32_t>(g->outputs.size()); }
int32_t output(const vireo_graph* g, uint32_t i) { return at(g->outputs, i); }
void log(void*, vireo_log_level, const char*) {}

}  // namespace

vireo_host test_host() {
  vireo_host h = {};
  h.struct_size = sizeof(h);
  h.abi = VIREO_DELEGATE_ABI;
  h.node_count = node_count;
  h.value_count = value_count;
  h.node = node;
  h.value = value;
  h.input_count = input_count;
  h.input = input;
  h.output_count = output_count;
  h.output = output;
  h.log = log;
  return h;
}

}  // namespace vireo
