#include "runtime/prepare/node_key.h"

#include "sdk/base/fnv.h"
#include "sdk/graph/graph_reader.h"

namespace vireo {
namespace {

uint64_t add_byte(uint64_t h, unsigned value) {
  const auto byte = static_cast<uint8_t>(value);
  return hash_bytes(h, &byte, 1);
}

uint64_t add_value(uint64_t h, const GraphReader& graph, int32_t number) {
  vireo_graph_value v;
  if (!graph.read_value(number, &v)) return add_byte(h, 0);
  h = add_byte(h, 1u + v.dtype);
  h = add_byte(h, (v.is_static != 0 ? 1u : 0u) + (v.constant != nullptr ? 2u : 0u));
  h = hash_number(h, static_cast<uint64_t>(v.rank));
  for (int32_t d = 0; d < v.rank; ++d) h = hash_number(h, static_cast<uint64_t>(v.max_dims[d]));
  return h;
}

uint64_t add_node(uint64_t h, const vireo_host& host, const vireo_graph* graph, uint32_t index, bool inner) {
  const GraphReader reader(host, graph);
  vireo_graph_node n;
  if (!reader.read_node(index, &n)) return h;
  h = hash_number(h, n.op);
  h = hash_number(h, n.version);
  h = hash_bytes(h, n.attrs, n.attrs_size);
  const auto add = [&](int32_t number) {
    if (inner) h = hash_number(h, static_cast<uint64_t>(int64_t{number}));  // how the body's nodes are joined
    h = add_value(h, reader, number);
  };
  for (uint32_t i = 0; i < n.input_count; ++i) add(n.inputs[i]);
  for (uint32_t o = 0; o < n.output_count; ++o) add(n.outputs[o]);
  if (n.body == nullptr) return h;
  const uint32_t count = GraphReader(host, n.body).node_count();
  for (uint32_t i = 0; i < count; ++i) h = add_node(h, host, n.body, i, true);
  return h;
}

}  // namespace

uint64_t node_key(const vireo_host& host, const vireo_graph* graph, uint32_t index) {
  const uint64_t h = add_node(kEmptyHash, host, graph, index, false);
  return h == 0 ? 1 : h;
}

}  // namespace vireo
