#include "runtime/devices/graph_view.h"

#include "runtime/devices/runtime.h"
#include "sdk/ops/control/control_generated.h"
#include "sdk/ops/op.h"

namespace vireo {
namespace {

uint32_t node_count(const vireo_graph* g) { return g->fb().nodes()->size(); }
uint32_t value_count(const vireo_graph* g) { return g->fb().tensors()->size(); }

vireo_status node(const vireo_graph* g, uint32_t index, vireo_graph_node* out) {
  if (index >= node_count(g)) return VIREO_INVALID_ARGUMENT;
  const fb::Node& n = *g->fb().nodes()->Get(index);
  out->op = n.op();
  out->version = n.version();
  out->attrs = n.attrs()->data();
  out->attrs_size = n.attrs()->size();
  out->inputs = n.inputs()->data();
  out->input_count = n.inputs()->size();
  out->outputs = n.outputs()->data();
  out->output_count = n.outputs()->size();
  out->name = text_of(n.name());
  out->body = nullptr;
  out->hint = nullptr;
  if (static_cast<Op>(n.op()) == Op::kComposite) {
    out->body = &g->all[n.subgraphs()->Get(0)];
    out->hint = text_of(::flatbuffers::GetRoot<attrs::Composite>(n.attrs()->data())->hint());
  }
  return VIREO_OK;
}

vireo_status value(const vireo_graph* g, uint32_t number, vireo_graph_value* out) {
  if (number >= value_count(g)) return VIREO_INVALID_ARGUMENT;
  const fb::Tensor& t = *g->fb().tensors()->Get(number);
  const TensorType& type = g->max_types[number];
  out->dtype = t.dtype();
  out->is_static = type_of(t).shape.is_static() ? 1 : 0;
  out->rank = type.shape.rank;
  for (int i = 0; i < kMaxRank; ++i) out->max_dims[i] = i < type.shape.rank ? type.shape[i] : 0;
  out->constant = g->program->constant(t);
  out->constant_size = out->constant == nullptr ? 0 : static_cast<size_t>(t.size());
  out->name = text_of(t.name());
  return VIREO_OK;
}

uint32_t input_count(const vireo_graph* g) { return g->fb().inputs()->size(); }
uint32_t output_count(const vireo_graph* g) { return g->fb().outputs()->size(); }
int32_t input(const vireo_graph* g, uint32_t i) {
  return i < input_count(g) ? static_cast<int32_t>(g->fb().inputs()->Get(i)) : -1;
}
int32_t output(const vireo_graph* g, uint32_t i) {
  return i < output_count(g) ? static_cast<int32_t>(g->fb().outputs()->Get(i)) : -1;
}

void log(void* context, vireo_log_level level, const char* text) {
  const auto* rt = static_cast<const vireo_runtime*>(context);
  if (rt->log != nullptr) rt->log(rt->log_context, level, text);
}

void* allocate(void* context, size_t bytes, size_t alignment) {
  return static_cast<const vireo_runtime*>(context)->allocate(bytes, alignment);
}
void release(void* context, void* memory, size_t bytes, size_t alignment) {
  static_cast<const vireo_runtime*>(context)->release(memory, bytes, alignment);
}

}  // namespace

vireo_host make_host(const vireo_runtime* runtime) {
  vireo_host h = {};
  h.struct_size = sizeof(h);
  h.abi = VIREO_DELEGATE_ABI;
  h.context = const_cast<vireo_runtime*>(runtime);
  h.node_count = node_count;
  h.value_count = value_count;
  h.node = node;
  h.value = value;
  h.input_count = input_count;
  h.input = input;
  h.output_count = output_count;
  h.output = output;
  h.log = log;
  h.allocate = allocate;
  h.release = release;
  return h;
}

}  // namespace vireo
