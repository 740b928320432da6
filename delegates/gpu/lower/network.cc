#include "delegates/gpu/lower/network.h"

#include "vireo/ops.h"

namespace vireo::gpu {

bool is_reduction(uint16_t op) {
  switch (op) {
    case VIREO_OP_REDUCE_SUM:
    case VIREO_OP_REDUCE_MEAN:
    case VIREO_OP_REDUCE_MAX:
    case VIREO_OP_REDUCE_MIN:
    case VIREO_OP_REDUCE_PROD:
    case VIREO_OP_REDUCE_NORM:
      return true;
    default:
      return false;
  }
}

int64_t Datum::count() const {
  int64_t n = 1;
  for (const int64_t d : dims) {
    if (d < 0 || (d > 0 && n > INT32_MAX / d)) return -1;
    n *= d;
  }
  return n;
}

uint64_t Datum::bytes() const { return static_cast<uint64_t>(dtype_bytes(dtype, count())); }

int Network::value(const GraphReader& graph, int32_t shown, int32_t body, std::map<int32_t, int>* numbers) {
  if (shown < 0) return -1;
  const auto [at, fresh] = numbers->try_emplace(shown, static_cast<int>(values.size()));
  if (!fresh) return at->second;
  vireo_graph_value v;
  Datum out;
  out.number = shown;
  out.body = body;
  if (graph.read_value(shown, &v) && v.rank >= 0 && v.rank <= VIREO_MAX_RANK) {
    out.dtype = static_cast<DType>(v.dtype);
    out.open = v.is_static == 0;
    open = open || out.open;
    out.dims.assign(v.max_dims, v.max_dims + v.rank);
    out.constant = static_cast<const uint8_t*>(v.constant);
    out.constant_bytes = v.constant_size;
    if (v.name != nullptr) out.name = v.name;
  }
  values.push_back(std::move(out));
  return at->second;
}

const char* Network::add_node(const vireo_host& host, const vireo_graph* shown, uint32_t index, int32_t body,
                              std::map<int32_t, int>* numbers) {
  const GraphReader graph(host, shown);
  vireo_graph_node n;
  if (!graph.read_node(index, &n)) return "the host does not show the node";
  if (n.version != 1) return "a later version of the operator than this delegate knows";
  Node out;
  out.op = n.op;
  out.attributes = n.attrs;
  out.source = sources;
  if (n.name != nullptr) out.name = n.name;
  for (uint32_t i = 0; i < n.input_count; ++i) out.inputs.push_back(value(graph, n.inputs[i], body, numbers));
  for (uint32_t o = 0; o < n.output_count; ++o) out.outputs.push_back(value(graph, n.outputs[o], body, numbers));
  if (n.body == nullptr) {
    nodes.push_back(std::move(out));
    return "";
  }
  const GraphReader inside(host, n.body);
  if (inside.input_count() > n.input_count || inside.output_count() > n.output_count)
    return "its body has more values than the composite";
  std::map<int32_t, int> inner;
  for (uint32_t i = 0; i < inside.input_count(); ++i) inner[inside.input(i)] = out.inputs[i];
  for (uint32_t o = 0; o < inside.output_count(); ++o) {
    if (!inner.emplace(inside.output(o), out.outputs[o]).second) return "its body hands an input through";
  }
  for (uint32_t k = 0; k < inside.node_count(); ++k) {
    vireo_graph_node nested;
    if (!inside.read_node(k, &nested) || nested.body != nullptr) return "its body has a body";
    if (const char* why = add_node(host, n.body, k, static_cast<int32_t>(sources), &inner); why[0] != 0) return why;
  }
  return "";
}

void Network::set_contents(int value, const void* contents) {
  Datum& d = values[static_cast<size_t>(value)];
  d.constant = static_cast<const uint8_t*>(contents);
  d.constant_bytes = static_cast<size_t>(d.bytes());
  d.brought = true;
}

const char* Network::add(const vireo_host& host, const vireo_graph* graph, uint32_t index) {
  const char* const why = add_node(host, graph, index, -1, &number);
  ++sources;
  return why;
}

}  // namespace vireo::gpu
