#include "runtime/prepare/joined.h"

#include <string.h>

#include <new>

#include "runtime/devices/compiled.h"
#include "runtime/devices/fault.h"
#include "runtime/prepare/arena_plan.h"
#include "runtime/prepare/device_arenas.h"
#include "sdk/base/config.h"
#include "sdk/base/fnv.h"

namespace vireo {
namespace {

constexpr uint32_t kMostPacked = 65536;  // constants of one part; a delegate that never ends is stopped there

// ... and of what may be done to numbers.
uint64_t shapes_of(const SessionLayout& l, uint32_t subgraph, uint32_t first, uint32_t count) {
  uint64_t hash = kEmptyHash;
  if (l.math != VIREO_MATH_EXACT) hash = hash_number(hash, l.math);
  const SubLayout& s = l.subs[subgraph];
  const auto take = [&](const flatbuffers::Vector<int32_t>& list) {
    for (const int32_t t : list) {
      if (t < 0) continue;
      const TensorType& type = s.max_types[t];
      hash = hash_number(hash, static_cast<uint64_t>(type.shape.rank));
      for (int i = 0; i < type.shape.rank; ++i) hash = hash_number(hash, static_cast<uint64_t>(type.shape[i]));
    }
  };
  for (uint32_t n = first; n < first + count; ++n) {
    take(*l.graph(subgraph).nodes()->Get(n)->inputs());
    take(*l.graph(subgraph).nodes()->Get(n)->outputs());
  }
  return hash;
}

BlobKey key_of(const SessionLayout& l, const Device& device, uint32_t subgraph, uint32_t first, uint32_t count) {
  return {device.handle, subgraph, first, count, shapes_of(l, subgraph, first, count)};
}

// What compile() writes to.
struct Sink {
  const vireo_allocator* allocator;
  Blob* blob = nullptr;
  bool full = false;  // the host had no memory for it
};

void* reserve(void* context, size_t bytes) {
  auto& sink = *static_cast<Sink*>(context);
  if (sink.blob != nullptr || bytes == 0) return nullptr;
  sink.blob = Blobs::take(*sink.allocator, bytes);
  sink.full = sink.blob == nullptr;
  return sink.full ? nullptr : Blobs::data_of(sink.blob);
}

class Joiner {
 public:
  Joiner(SessionLayout& layout, uint32_t subgraph, const vireo_host& host, Error* error)
      : l_(layout), sub_(subgraph), s_(layout.subs[subgraph]), rt_(layout.model->runtime), host_(host), error_(error) {}
  ~Joiner() {
    rt_->release(last_reader_, last_reader_bytes_);
    rt_->release(plan_, plan_bytes_);
  }
  Joiner(const Joiner&) = delete;
  Joiner& operator=(const Joiner&) = delete;

  Status run(bool* anew) {
    if (!any()) {
      for (uint32_t n = 0; n < s_.node_count; ++n) s_.seconds[n] = NodeChoice{};
      return Status::kOk;
    }
    VIREO_TRY(find_readers());
    for (uint32_t n = 0; n < s_.node_count;) {
      uint32_t end = n + 1;
      if (joins(n)) {
        while (end < s_.node_count && s_.nodes[end].device == s_.nodes[n].device && joins(end)) ++end;
        VIREO_TRY(join(n, end, anew));
      } else if (s_.nodes[n].joins) {
        VIREO_TRY(join(n, end, anew));
      }
      n = end;
    }
    for (uint32_t n = 0; n < s_.node_count; ++n) {
      if (!s_.nodes[n].joins) s_.seconds[n] = NodeChoice{};  // it was outbid, but runs alone
    }
    for (JoinedPart* p = l_.parts; p != nullptr && !*anew; p = p->next) {
      if (p->subgraph == sub_) VIREO_TRY(plan_fallback(p));
    }
    return Status::kOk;
  }

 private:
  bool joins(uint32_t n) const { return s_.nodes[n].joins && may_join(l_, sub_, n); }
  bool any() const {
    for (uint32_t n = 0; n < s_.node_count; ++n) {
      if (s_.nodes[n].joins) return true;
    }
    return false;
  }

  Status no_room(size_t bytes) {
    return fail(error_, Status::kOutOfArena, "the allocator has no {} bytes to plan the session", bytes);
  }

  Status find_readers() {
    last_reader_bytes_ = sizeof(uint32_t) * (size_t{s_.tensor_count} + 1);
    last_reader_ = static_cast<uint32_t*>(rt_->allocate(last_reader_bytes_));
    if (last_reader_ == nullptr) return no_room(last_reader_bytes_);
    memset(last_reader_, 0, last_reader_bytes_);
    const fb::Subgraph& g = l_.graph(sub_);
    for (uint32_t n = 0; n < s_.node_count; ++n) {
      for (const int32_t x : *g.nodes()->Get(n)->inputs()) {
        if (x >= 0) last_reader_[x] = n;
      }
    }
    for (const uint32_t y : *g.outputs()) last_reader_[y] = UINT32_MAX;
    return Status::kOk;
  }

  // One part where the device compiles [first, end) as one, else halves; at last nodes that are claimed anew.
  Status join(uint32_t first, uint32_t end, bool* anew) {
    bool refused = false;
    VIREO_TRY(make(first, end, &refused));
    if (!refused) return Status::kOk;
    if (end - first == 1) {
      *anew = true;
      return Status::kOk;
    }
    const uint32_t middle = first + (end - first) / 2;
    VIREO_TRY(join(first, middle, anew));
    return join(middle, end, anew);
  }

  bool made_inside(int32_t t, uint32_t first, uint32_t end) const {
    for (uint32_t n = first; n < end; ++n) {
      for (const int32_t y : *l_.graph(sub_).nodes()->Get(n)->outputs()) {
        if (y == t) return true;
      }
    }
    return false;
  }
  static bool listed(const int32_t* list, uint32_t count, int32_t t) {
    for (uint32_t i = 0; i < count; ++i) {
      if (list[i] == t) return true;
    }
    return false;
  }

  // The part's struct and lists, in one block.
  Status describe(uint32_t first, uint32_t end, JoinedPart** out) {
    const fb::Subgraph& g = l_.graph(sub_);
    size_t ins = 0, outs = 0;
    for (uint32_t n = first; n < end; ++n) {
      ins += g.nodes()->Get(n)->inputs()->size();
      outs += g.nodes()->Get(n)->outputs()->size();
    }
    const size_t bytes = sizeof(JoinedPart) + sizeof(uint64_t) * outs + sizeof(void*) * (end - first) +
                         sizeof(int32_t) * (ins + 2 * outs + (end - first));
    void* const block = rt_->allocate(bytes);
    if (block == nullptr) return no_room(bytes);
    auto* const p = new (block) JoinedPart();
    p->bytes = bytes;
    p->subgraph = sub_;
    p->first = first;
    p->count = end - first;
    p->inner_at = reinterpret_cast<uint64_t*>(p + 1);
    p->claimed = reinterpret_cast<const void**>(p->inner_at + outs);
    p->nodes = reinterpret_cast<uint32_t*>(p->claimed + p->count);
    p->inputs = reinterpret_cast<int32_t*>(p->nodes + p->count);
    p->outputs = p->inputs + ins;
    p->inner = p->outputs + outs;
    for (uint32_t n = first; n < end; ++n) {
      p->nodes[n - first] = n;
      p->claimed[n - first] = s_.nodes[n].claimed;
      for (const int32_t x : *g.nodes()->Get(n)->inputs()) {
        if (x < 0 || g.tensors()->Get(static_cast<uint32_t>(x))->segment() >= 0) continue;
        if (listed(p->inputs, p->input_count, x) || made_inside(x, first, n)) continue;
        p->inputs[p->input_count++] = x;
      }
      for (const int32_t y : *g.nodes()->Get(n)->outputs()) {
        if (y < 0) continue;
        const bool inner = last_reader_[y] < end;
        (inner ? p->inner[p->inner_count++] : p->outputs[p->output_count++]) = y;
      }
    }
    *out = p;
    return Status::kOk;
  }

  Status make(uint32_t first, uint32_t end, bool* refused) {
    const Device& device = rt_->devices[s_.nodes[first].device];
    JoinedPart* p = nullptr;
    VIREO_TRY(describe(first, end, &p));
    p->next = l_.parts;
    l_.parts = p;
    NodeChoice& choice = s_.nodes[first];
    choice.part = p;
    choice.joined = p->count;
    for (uint32_t n = first + 1; n < end; ++n) s_.nodes[n].joined = 0;
    Status status = Status::kOk;
    do {
      status = compile(device, p);
      if (ok(status)) *refused = p->blob->refused();
      if (ok(status) && !*refused) status = measure(device, p);
      if (ok(status) && !*refused) *refused = refuse_large(device, *p);
    } while (!ok(status) && p->blob != nullptr && give_up_file(l_, *p, error_));
    if (ok(status) && !*refused) return Status::kOk;
    for (uint32_t n = first; n < end; ++n) {
      s_.nodes[n].joined = 1;
      s_.nodes[n].part = nullptr;
    }
    l_.parts = p->next;
    rt_->release(p, p->bytes);
    return status;
  }

  Status compile(const Device& device, JoinedPart* p) {
    const BlobKey key = key_of(l_, device, sub_, p->first, p->count);
    Blobs& blobs = l_.model->blobs;
    p->blob = blobs.find(key);
    if (p->blob == nullptr) p->blob = adopt_compiled(l_.model, device, key);
    if (p->blob != nullptr) return Status::kOk;
    Sink sink{&rt_->allocator};
    Fault fault;
    vireo_compiled compiled = VIREO_COMPILED_INIT;
    vireo_status status = VIREO_OK;
    if (device.delegate->compile != nullptr) {
      vireo_blob to = VIREO_BLOB_INIT;
      to.context = &sink;
      to.reserve = reserve;
      to.fault = &fault;
      const vireo_part part = part_of(l_, sub_, p->nodes, s_.nodes[p->first]);
      status = device.delegate->compile(device.handle, &host_, &l_.graphs[sub_], &part, &to, &compiled);
    }
    if (status != VIREO_OK && sink.blob != nullptr) {
      Blobs::drop(rt_->allocator, sink.blob);
      sink.blob = nullptr;
    }
    if (sink.full) {
      blame_node(error_, name(p));
      return fail(error_, Status::kOutOfArena,
                  "node \"{}\": the allocator has no memory for what device \"{}\" compiles", name(p),
                  device.info.name);
    }
    if (sink.blob == nullptr) sink.blob = Blobs::take(rt_->allocator, 0);
    if (sink.blob == nullptr) return no_room(sizeof(Blob));
    sink.blob->key = key;
    sink.blob->head.time_ns = compiled.time_ns > 0 && compiled.time_ns < 1e18 ? compiled.time_ns : 0;
    sink.blob->head.energy_nj = compiled.energy_nj;
    sink.blob->head.moved_bytes = compiled.moved_bytes;
    if (status != VIREO_OK) refuse(*sink.blob, status, fault);
    p->blob = blobs.add(rt_->allocator, sink.blob);
    return Status::kOk;
  }

  // The reason is the user's to read: it begins with the node that the device blames, where that is one of many.
  static void refuse(const Blob& blob, vireo_status status, const Fault& fault) {
    const bool full = status == VIREO_OUT_OF_ARENA;  // one more reason not to run there
    const bool placed = fault.node != nullptr && fault.node[0] != 0;
    Error why;
    (void)fail(&why, Status::kUnsupported, "{}{}{}{}", full ? "the device has no memory left to compile it; " : "",
               placed ? fault.node : "", placed ? ": " : "",
               full || fault.text[0] != 0 ? static_cast<const char*>(fault.text) : "the device does not compile it");
    full ? blob.refuse_for_now(why.message) : blob.refuse(why.message);
  }

  Status measure(const Device& device, JoinedPart* p) {
    NodeChoice& choice = s_.nodes[p->first];
    const vireo_part part = part_of(l_, sub_, p->nodes, choice);
    const vireo_memory_request with = request_of(l_, choice);
    vireo_part_memory memory = VIREO_PART_MEMORY_INIT;
    const vireo_status status = device.delegate->memory(device.handle, &host_, &l_.graphs[sub_], &part, &with, &memory);
    if (status != VIREO_OK) {
      blame_node(error_, name(p));
      return fail(error_, static_cast<Status>(status),
                  "node \"{}\": device \"{}\" could not say what memory it takes: status {}", name(p), device.info.name,
                  status);
    }
    choice.state_bytes = memory.state_bytes;
    choice.scratch_bytes = memory.scratch_bytes;
    largest_ = 0;
    if (device.delegate->bind != nullptr) {
      p->device_state_bytes = align_up(memory.device_state_bytes, uint64_t{VIREO_BUFFER_ALIGNMENT});
      p->device_scratch_bytes = align_up(memory.device_scratch_bytes, uint64_t{VIREO_BUFFER_ALIGNMENT});
      largest_ = p->device_scratch_bytes > p->device_state_bytes ? p->device_scratch_bytes : p->device_state_bytes;
    }
    vireo_packed packed = VIREO_PACKED_INIT;
    while (VIREO_PACKS && with.packs != 0 && choice.packed < kMostPacked &&
           device.delegate->pack(device.handle, &host_, &l_.graphs[sub_], &part, choice.packed, nullptr, &packed,
                                 nullptr) == VIREO_OK) {
      if ((packed.flags & VIREO_PACKED_ON_DEVICE) != 0 && packed.bytes > largest_) largest_ = packed.bytes;
      ++choice.packed;
    }
    return Status::kOk;
  }

  // What the part wants in one piece may be more than a buffer of its device.
  bool refuse_large(const Device& device, const JoinedPart& p) const {
    if (largest_ <= most_buffer_bytes(device)) return false;
    Error why;
    (void)fail(&why, Status::kUnsupported,
               "the part wants {} bytes of the device's memory in one piece, and its buffers have at most {}", largest_,
               device.info.max_buffer_bytes);
    p.blob->refuse(why.message);
    return true;
  }

  // Inner values among themselves, as a session without this device would use them.
  Status plan_fallback(JoinedPart* p) {
    p->falls_back = true;
    for (uint32_t k = 0; k < p->count; ++k) {
      p->falls_back = p->falls_back && s_.seconds[p->nodes[k]].device != kNoDevice;
    }
    if (!p->falls_back) {
      for (uint32_t k = 0; k < p->count; ++k) s_.seconds[p->nodes[k]] = NodeChoice{};
      return Status::kOk;
    }
    if (p->inner_count == 0) return Status::kOk;
    PlanTensor* tensors = nullptr;
    PlanNode* nodes = nullptr;
    uint64_t* offsets = nullptr;
    uint8_t* work = nullptr;
    const auto work_bytes = static_cast<size_t>(plan_workspace_bytes(s_.tensor_count, p->count));
    Carver c;
    for (int round = 0; round < 2; ++round) {
      tensors = c.array<PlanTensor>(s_.tensor_count);
      nodes = c.array<PlanNode>(p->count);
      offsets = c.array<uint64_t>(s_.tensor_count);
      work = static_cast<uint8_t*>(c.bytes(work_bytes));
      if (round != 0) break;
      plan_bytes_ = c.used();
      plan_ = rt_->allocate(plan_bytes_);
      if (plan_ == nullptr) return no_room(plan_bytes_);
      c = Carver(plan_);
    }
    const fb::Subgraph& g = l_.graph(sub_);
    for (uint32_t t = 0; t < s_.tensor_count; ++t) {
      tensors[t] = PlanTensor{};
      tensors[t].kind = PlanTensor::kConstant;
    }
    for (uint32_t i = 0; i < p->inner_count; ++i) {
      tensors[p->inner[i]].kind = PlanTensor::kValue;
      tensors[p->inner[i]].bytes = tensor_bytes(s_.max_types[p->inner[i]]);
    }
    for (uint32_t k = 0; k < p->count; ++k) {
      const fb::Node& node = *g.nodes()->Get(p->nodes[k]);
      nodes[k] = PlanNode{};
      nodes[k].inputs = Span<const int32_t>(node.inputs()->data(), node.inputs()->size());
      nodes[k].outputs = Span<const int32_t>(node.outputs()->data(), node.outputs()->size());
      nodes[k].region_bytes = -1;
    }
    PlanResult result;
    const Status status =
        plan_arena(Span<const PlanTensor>(tensors, s_.tensor_count), Span<const PlanNode>(nodes, p->count),
                   PackOrder::kSize, false, Span<uint8_t>(work, work_bytes), Span<uint64_t>(offsets, s_.tensor_count),
                   Span<uint64_t>(), &result, error_);
    for (uint32_t i = 0; i < p->inner_count; ++i) p->inner_at[i] = offsets[p->inner[i]];
    p->region_bytes = result.bytes;
    rt_->release(plan_, plan_bytes_);
    plan_ = nullptr;
    return status;
  }

  const char* name(const JoinedPart* p) const { return text_of(l_.graph(sub_).nodes()->Get(p->first)->name()); }

  SessionLayout& l_;
  uint32_t sub_;
  SubLayout& s_;
  const vireo_runtime* rt_;
  const vireo_host& host_;
  Error* error_;
  uint32_t* last_reader_ = nullptr;  // the last node that reads a value; UINT32_MAX: an output
  size_t last_reader_bytes_ = 0;
  void* plan_ = nullptr;  // of the part in hand
  size_t plan_bytes_ = 0;
  uint64_t largest_ = 0;  // bytes that the part in hand wants of its device in one piece
};

}  // namespace

bool may_join(const SessionLayout& l, uint32_t subgraph, uint32_t node) {
  const fb::Node& n = *l.graph(subgraph).nodes()->Get(node);
  if (static_cast<Op>(n.op()) == Op::kComposite) {  // what stands for it, as its body says
    const auto body = static_cast<uint32_t>(n.subgraphs()->Get(0));
    for (uint32_t k = 0; k < l.graph(body).nodes()->size(); ++k) {
      if (!may_join(l, body, k)) return false;
    }
    return true;
  }
  const OpRow* row = find_op(static_cast<Op>(n.op()));
  return row != nullptr && (row->def->flags & (OpDef::kDataDependent | OpDef::kRandom | OpDef::kControlFlow)) == 0;
}

Status join_parts(SessionLayout& l, uint32_t subgraph, const vireo_host& host, bool* anew, Error* error) {
  *anew = false;
  Status status = Joiner(l, subgraph, host, error).run(anew);
  if (!ok(status) || *anew) free_parts(l, subgraph);
  return status;
}

void free_parts(SessionLayout& l, uint32_t subgraph) {
  JoinedPart** at = &l.parts;
  while (*at != nullptr) {
    JoinedPart* const p = *at;
    if (p->subgraph != subgraph) {
      at = &p->next;
      continue;
    }
    *at = p->next;
    l.model->runtime->release(p, p->bytes);
  }
}

void refuse_nodes(const SessionLayout& l, const Device& device, const JoinedPart& part, const char* why) {
  const vireo_allocator& allocator = l.model->runtime->allocator;
  part.blob->refuse_for_now(why);
  for (uint32_t k = 0; k < part.count; ++k) {
    const BlobKey key = key_of(l, device, part.subgraph, part.nodes[k], 1);
    const Blob* blob = l.model->blobs.find(key);
    if (blob == nullptr) {
      Blob* const made = Blobs::take(allocator, 0);
      if (made == nullptr) return;  // the next session tries smaller parts
      made->key = key;
      blob = l.model->blobs.add(allocator, made);
    }
    blob->refuse_for_now(why);
  }
}

bool give_up_file(const SessionLayout& l, const JoinedPart& part, Error* error) {
  if (!part.blob->forget()) return false;
  const vireo_runtime* rt = l.model->runtime;
  Error told;
  (void)fail(&told, Status::kInvalidModel,
             "device \"{}\" does not take what {} has compiled for \"{}\": it compiles anew",
             rt->devices[l.subs[part.subgraph].nodes[part.first].device].info.name,
             part.blob->origin == BlobOrigin::kFile ? "the model's file" : "the cache",
             text_of(l.graph(part.subgraph).nodes()->Get(part.first)->name()));
  if (rt->log != nullptr) rt->log(rt->log_context, VIREO_LOG_WARNING, told.message);
  if (error != nullptr) error->clear();
  return true;
}

// Each value lies in one buffer.
static bool has_large_value(const SessionLayout& l, const Device& device, uint32_t subgraph, uint32_t node) {
  if (!has_memory(device) || device.info.max_buffer_bytes == 0) return false;
  const fb::Subgraph& g = l.graph(subgraph);
  const fb::Node& n = *g.nodes()->Get(node);
  const auto any = [&](const flatbuffers::Vector<int32_t>& list) {
    for (const int32_t t : list) {
      if (t >= 0 && g.tensors()->Get(static_cast<uint32_t>(t))->segment() < 0 &&
          static_cast<uint64_t>(tensor_bytes(l.subs[subgraph].max_types[t])) > most_buffer_bytes(device))
        return true;
    }
    return false;
  };
  return any(*n.inputs()) || any(*n.outputs());
}

const char* refused_reason(const SessionLayout& l, const Device& device, uint32_t subgraph, uint32_t node) {
  if (has_large_value(l, device, subgraph, node))
    return "a value that it reads or makes is larger than any buffer of the device";
  const Blob* blob = l.model->blobs.find(key_of(l, device, subgraph, node, 1));
  return blob != nullptr && blob->refused() ? blob->head.reason : nullptr;
}

}  // namespace vireo
