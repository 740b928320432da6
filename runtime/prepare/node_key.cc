#include "runtime/prepare/node_key.h"

namespace vireo {
namespace {

// FNV-1a, 64 bits (draft-eastlake-fnv): no secret depends on it, and caches hold some thousand keys.
class Hash {
 public:
  void byte(uint8_t b) { h_ = (h_ ^ b) * 0x100000001B3u; }
  void number(uint64_t v) {  // the same bytes on every machine
    for (int i = 0; i < 8; ++i) byte(static_cast<uint8_t>(v >> (8 * i)));
  }
  uint64_t value() const { return h_ == 0 ? 1 : h_; }

 private:
  uint64_t h_ = 0xCBF29CE484222325u;
};

void add_value(const vireo_host& host, const vireo_graph* graph, int32_t number, Hash* h) {
  vireo_graph_value v = {};
  v.struct_size = sizeof(v);
  if (number < 0 || host.value(graph, static_cast<uint32_t>(number), &v) != VIREO_OK) return h->byte(0);
  h->byte(static_cast<uint8_t>(1 + v.dtype));
  h->byte(static_cast<uint8_t>((v.is_static != 0 ? 1 : 0) + (v.constant != nullptr ? 2 : 0)));
  h->number(static_cast<uint64_t>(v.rank));
  for (int32_t d = 0; d < v.rank; ++d) h->number(static_cast<uint64_t>(v.max_dims[d]));
}

void add_node(const vireo_host& host, const vireo_graph* graph, uint32_t index, bool inner, Hash* h) {
  vireo_graph_node n = {};
  n.struct_size = sizeof(n);
  if (host.node(graph, index, &n) != VIREO_OK) return;
  h->number(n.op);
  h->number(n.version);
  for (size_t i = 0; i < n.attrs_size; ++i) h->byte(n.attrs[i]);
  const auto add = [&](int32_t number) {
    if (inner) h->number(static_cast<uint64_t>(int64_t{number}));  // how the body's nodes are joined
    add_value(host, graph, number, h);
  };
  for (uint32_t i = 0; i < n.input_count; ++i) add(n.inputs[i]);
  for (uint32_t o = 0; o < n.output_count; ++o) add(n.outputs[o]);
  for (uint32_t i = 0; n.body != nullptr && i < host.node_count(n.body); ++i) add_node(host, n.body, i, true, h);
}

}  // namespace

uint64_t node_key(const vireo_host& host, const vireo_graph* graph, uint32_t index) {
  Hash h;
  add_node(host, graph, index, false, &h);
  return h.value();
}

}  // namespace vireo
