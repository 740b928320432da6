#include "delegates/conformance/test_graph.h"

#include <cstdlib>
#include <cstring>

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
  out->is_static = v.varies ? 0 : 1;
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

void TestPacks::Free::operator()(void* p) const { std::free(p); }

TestPacks::TestPacks(const vireo_delegate& d, void* device, const vireo_host& host, const vireo_graph* graph,
                     const vireo_part& part) {
  constexpr unsigned char kPaint = 0x3C;
  constexpr size_t kGuard = 64;
  while (part.packs != 0 && pointers_.size() <= VIREO_MAX_PACKED) {
    vireo_packed what = {}, again = {};
    what.struct_size = again.struct_size = sizeof(what);
    const auto index = static_cast<uint32_t>(pointers_.size());
    if (d.pack(device, &host, graph, &part, index, nullptr, &what, nullptr) != VIREO_OK) return;
    const size_t bytes = (what.bytes + 63) / 64 * 64 + kGuard;
    auto* const to = static_cast<unsigned char*>(std::aligned_alloc(64, bytes));
    blocks_.emplace_back(to);
    pointers_.push_back(to);
    std::memset(to, kPaint, bytes);
    if (what.constant == nullptr || what.bytes == 0) fault_ = "pack() names no constant";
    if (d.pack(device, &host, graph, &part, index, nullptr, &again, to) != VIREO_OK) fault_ = "pack() does not write";
    if (again.bytes != what.bytes || again.constant != what.constant || again.layout != what.layout)
      fault_ = "pack() answers differently the second time";
    for (size_t i = what.bytes; i < bytes; ++i) {
      if (to[i] != kPaint) fault_ = "pack() writes past its bytes";
    }
  }
  if (pointers_.size() > VIREO_MAX_PACKED) fault_ = "pack() names more constants than a part may have";
}

}  // namespace vireo
