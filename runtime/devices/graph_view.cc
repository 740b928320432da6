#include "runtime/devices/graph_view.h"

#include "runtime/devices/plugins.h"
#include "runtime/devices/runtime.h"
#include "sdk/base/config.h"
#include "sdk/graph/graph_host.h"
#include "sdk/graph/show_node.h"
#include "sdk/ops/control/control_generated.h"
#include "sdk/ops/op.h"

namespace vireo {
namespace {

class View {
 public:
  explicit View(const vireo_graph* g) : g_(*g) {}

  uint32_t node_count() const { return g_.fb().nodes()->size(); }
  uint32_t value_count() const { return g_.fb().tensors()->size(); }
  uint32_t input_count() const { return g_.fb().inputs()->size(); }
  uint32_t output_count() const { return g_.fb().outputs()->size(); }
  int32_t input(uint32_t i) const { return static_cast<int32_t>(g_.fb().inputs()->Get(i)); }
  int32_t output(uint32_t i) const { return static_cast<int32_t>(g_.fb().outputs()->Get(i)); }

  void node(uint32_t index, vireo_graph_node* out) const {
    const fb::Node& n = *g_.fb().nodes()->Get(index);
    show_node(n, out);
    if (static_cast<Op>(n.op()) != Op::kComposite) return;
    out->body = &g_.all[n.subgraphs()->Get(0)];
    out->hint = text_of(::flatbuffers::GetRoot<attrs::Composite>(n.attrs()->data())->hint());
  }

  void value(uint32_t number, vireo_graph_value* out) const {
    const fb::Tensor& t = *g_.fb().tensors()->Get(number);
    const bool in_run = VIREO_JOINED && g_.now != nullptr;
    const TensorType& type = in_run ? *g_.now[number] : static_cast<const TensorType&>(g_.max_types[number]);
    const uint32_t open = in_run ? 0 : g_.max_types[number].open;
    out->dtype = t.dtype();
    out->is_static = !open;
    out->only_first_open = open == 1;
    out->rank = type.shape.rank;
    for (int i = 0; i < kMaxRank; ++i) out->max_dims[i] = i < type.shape.rank ? type.shape[i] : 0;
    out->constant = g_.program->constant(t);
    out->constant_size = out->constant == nullptr ? 0 : static_cast<size_t>(t.size());
    out->name = text_of(t.name());
  }

 private:
  const vireo_graph& g_;
};

void log(void* context, vireo_log_level level, const char* text) {
  auto* const rt = static_cast<vireo_runtime*>(context);
#if VIREO_PLUGINS
  if (level == VIREO_LOG_ERROR) hear_error(rt, text);
#endif
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
  vireo_host h = graph_host<View>();
  h.context = const_cast<vireo_runtime*>(runtime);
  h.log = log;
  h.allocate = allocate;
  h.release = release;
  return h;
}

}  // namespace vireo
