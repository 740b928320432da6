#include "delegates/npu/driver/read.h"

namespace vireo::npu {

int64_t Value::count() const {
  int64_t n = 1;
  bool over = false;
  for (int i = 0; i < rank; ++i) {
    if (dims[static_cast<size_t>(i)] == 0) return 0;
    over = over || __builtin_mul_overflow(n, dims[static_cast<size_t>(i)], &n);
  }
  return over ? INT64_MAX : n;
}

int ReadGraph::value(const GraphReader& graph, int32_t number_, std::map<int32_t, int>* numbers) {
  if (number_ < 0) return -1;
  const auto [at, fresh] = numbers->try_emplace(number_, static_cast<int>(values.size()));
  if (!fresh) return at->second;
  vireo_graph_value v;
  Value out;
  if (graph.read_value(number_, &v) && v.is_static != 0 && v.rank >= 0 && v.rank <= VIREO_MAX_RANK) {
    out.dtype = v.dtype;
    out.rank = v.rank;
    for (int i = 0; i < v.rank; ++i) out.dims[static_cast<size_t>(i)] = v.max_dims[i];
    out.constant = static_cast<const uint8_t*>(v.constant);
    out.constant_size = v.constant_size;
    out.name = v.name == nullptr ? "" : v.name;
  }  // else it has no type, and no layer takes it
  values.push_back(out);
  return at->second;
}

const char* ReadGraph::add_node(const vireo_host& host, const vireo_graph* shown, uint32_t index, uint32_t source,
                                std::map<int32_t, int>* numbers) {
  const GraphReader graph(host, shown);
  vireo_graph_node n;
  if (!graph.read_node(index, &n)) return "the host does not show the node";
  ReadNode out;
  out.op = n.op;
  out.attrs = n.attrs;
  out.source = source;
  if (n.name != nullptr) out.name = n.name;
  for (uint32_t i = 0; i < n.input_count; ++i) out.inputs.push_back(value(graph, n.inputs[i], numbers));
  for (uint32_t o = 0; o < n.output_count; ++o) out.outputs.push_back(value(graph, n.outputs[o], numbers));
  if (n.body == nullptr) {
    nodes.push_back(out);
    return kTaken;
  }
  const GraphReader body(host, n.body);
  if (body.input_count() > n.input_count || body.output_count() > n.output_count) return "its body does not fit it";
  std::map<int32_t, int> inner;
  for (uint32_t i = 0; i < body.input_count(); ++i) inner[body.input(i)] = out.inputs[i];
  for (uint32_t o = 0; o < body.output_count(); ++o) {
    // An output that is a constant or an input of the body has no node that makes it.
    if (!inner.emplace(body.output(o), out.outputs[o]).second) return "its body hands an input through";
  }
  for (uint32_t k = 0; k < body.node_count(); ++k) {
    vireo_graph_node inside;
    if (!body.read_node(k, &inside) || inside.body != nullptr) return "a body inside its body";
    if (const char* why = add_node(host, n.body, k, source, &inner); why[0] != 0) return why;
  }
  return kTaken;
}

const char* ReadGraph::add(const vireo_host& host, const vireo_graph* graph, uint32_t index) {
  return add_node(host, graph, index, index, &number);
}

}  // namespace vireo::npu
