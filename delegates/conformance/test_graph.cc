#include "delegates/conformance/test_graph.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "sdk/graph/graph_host.h"

namespace vireo {
namespace {

class View {
 public:
  explicit View(const vireo_graph* g) : g_(*g) {}

  uint32_t node_count() const { return static_cast<uint32_t>(g_.nodes.size()); }
  uint32_t value_count() const { return static_cast<uint32_t>(g_.values.size()); }
  uint32_t input_count() const { return static_cast<uint32_t>(g_.inputs.size()); }
  uint32_t output_count() const { return static_cast<uint32_t>(g_.outputs.size()); }
  int32_t input(uint32_t i) const { return g_.inputs[i]; }
  int32_t output(uint32_t i) const { return g_.outputs[i]; }

  void node(uint32_t index, vireo_graph_node* out) const {
    const TestNode& n = g_.nodes[index];
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
  }

  void value(uint32_t number, vireo_graph_value* out) const {
    const TestValue& v = g_.values[number];
    out->dtype = static_cast<vireo_dtype>(v.type.dtype);
    out->is_static = v.varies ? 0 : 1;
    out->only_first_open = 0;
    out->rank = v.type.shape.rank;
    for (int i = 0; i < VIREO_MAX_RANK; ++i) out->max_dims[i] = i < v.type.shape.rank ? v.type.shape[i] : 0;
    out->constant = v.constant;
    out->constant_size = v.constant_size;
    out->name = "";
  }

 private:
  const vireo_graph& g_;
};

void log(void*, vireo_log_level, const char*) {}

}  // namespace

vireo_host test_host() {
  vireo_host h = graph_host<View>();
  h.log = log;
  h.allocate = [](void*, size_t bytes, size_t alignment) {
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  h.release = [](void*, void* memory, size_t, size_t) { std::free(memory); };
  return h;
}

TestClaim::TestClaim(const vireo_claim& claim)
    : kernel(claim.kernel == nullptr ? "" : claim.kernel),
      reason(claim.reason == nullptr ? "" : claim.reason),
      joins((claim.flags & VIREO_CLAIM_JOINS) != 0),
      copy_((claim.state_bytes + sizeof(Piece) - 1) / sizeof(Piece)),
      pointer_(claim.state) {
  if (claim.state_bytes != 0) std::memcpy(copy_.data(), claim.state, claim.state_bytes);
}

void TestClaim::end() {
  if (!copy_.empty()) std::memset(copy_.data(), 0xA5, copy_.size() * sizeof(Piece));
}

vireo_claims test_claims(void* context, vireo_status (*take)(void*, const vireo_claim*),
                         vireo_status (*leave)(void*, uint32_t, const char*), vireo_fault* fault) {
  vireo_claims claims = VIREO_CLAIMS_INIT;
  claims.context = context;
  claims.take = take;
  claims.leave = leave;
  claims.fault = fault;
  return claims;
}

void TestPacks::Free::operator()(void* p) const { std::free(p); }

TestPacks::TestPacks(const vireo_delegate& d, void* device, const vireo_host& host, const vireo_graph* graph,
                     const vireo_part& part) {
  constexpr unsigned char kPaint = 0x3C;
  constexpr size_t kGuard = 64;
  while (pointers_.size() <= VIREO_MAX_PACKED) {
    vireo_packed what = VIREO_PACKED_INIT, again = VIREO_PACKED_INIT;
    const auto index = static_cast<uint32_t>(pointers_.size());
    if (d.pack(device, &host, graph, &part, index, nullptr, &what, nullptr) != VIREO_OK) return;
    const size_t bytes = (what.bytes + 63) / 64 * 64 + kGuard;
    auto* const to = static_cast<unsigned char*>(std::aligned_alloc(64, bytes));
    blocks_.emplace_back(to);
    pointers_.push_back(to);
    std::memset(to, kPaint, bytes);
    if (what.constant == nullptr || what.bytes == 0) fault_ = "pack() names no constant";
    if (what.flags != 0) fault_ = "pack() wants a constant in a buffer for a part that works on none";
    if (d.pack(device, &host, graph, &part, index, nullptr, &again, to) != VIREO_OK) fault_ = "pack() does not write";
    if (again.bytes != what.bytes || again.constant != what.constant || again.layout != what.layout)
      fault_ = "pack() answers differently the second time";
    for (size_t i = what.bytes; i < bytes; ++i) {
      if (to[i] != kPaint) fault_ = "pack() writes past its bytes";
    }
  }
  if (pointers_.size() > VIREO_MAX_PACKED) fault_ = "pack() names more constants than a part may have";
}

TestPart::TestPart(const vireo_delegate& d, void* device, const vireo_host& host, const vireo_graph* graph,
                   uint32_t node, TestClaim claim, bool packs)
    : d_(d),
      device_(device),
      host_(host),
      graph_(graph),
      node_(node),
      claim_(std::move(claim)),
      claimed_(claim_.state()),
      packs_(packs && d.pack != nullptr) {
  const TestNode& n = graph->nodes[node];
  part_.nodes = &node_;
  part_.node_count = 1;
  part_.claimed = &claimed_;
  part_.inputs = n.inputs.data();
  part_.input_count = static_cast<uint32_t>(n.inputs.size());
  part_.outputs = n.outputs.data();
  part_.output_count = static_cast<uint32_t>(n.outputs.size());
  if (packs_) packed_ = TestPacks(d, device, host, graph, part_);
}

vireo_status TestPart::memory(int32_t slots, vireo_part_memory* out) const {
  vireo_memory_request with = VIREO_MEMORY_REQUEST_INIT;
  with.slots = slots;
  with.packs = packs_ ? 1 : 0;
  return d_.memory(device_, &host_, graph_, &part_, &with, out);
}

vireo_status TestPart::pack(uint32_t index, vireo_packed* out) const {
  return d_.pack(device_, &host_, graph_, &part_, index, nullptr, out, nullptr);
}

vireo_status TestPart::load(int32_t slots, void* state, void** loaded) {
  vireo_load_request with = VIREO_LOAD_REQUEST_INIT;
  with.slots = slots;
  with.state = state;
  with.packed = packs_ ? packed_.data() : nullptr;
  with.fault = &fault_;
  const vireo_status status = d_.load(device_, &host_, graph_, &part_, &with, loaded);
  claim_.end();
  return status;
}

}  // namespace vireo
