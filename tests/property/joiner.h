// The device of joined_test.cc and compiled_test.cc: Relu, Neg, Add, Sub on float32, neighbours as one part that it
// compiles to instructions and runs when it is waited for. It refuses, hangs, is lost and computes wrongly on demand.
// It works on the host's memory, on memory of its own, or on the host's arena as an import; then it is as late as it
// may be: what is written and submitted waits in a queue until somebody waits or reads. In buffers it also reads
// constants, which lie negated in its own layout, has its inner values, and keeps a mark of each part as state.
#ifndef VIREO_TESTS_PROPERTY_JOINER_H_
#define VIREO_TESTS_PROPERTY_JOINER_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/op.h"
#include "sdk/ops/unary/unary_generated.h"
#include "vireo/delegate.h"

namespace vireo {
namespace {

enum class Memory { kHosts, kOwn, kImported };
struct Buffer {
  std::vector<uint8_t> own;
  uint8_t* bytes = nullptr;
  uint64_t size = 0;
};

struct Joiner {
  Memory memory = Memory::kHosts;
  int buffers_left = 1000;                   // that it gives
  std::vector<std::function<void()>> queue;  // own memory: what has been asked for and not done
  std::set<Buffer*> buffers;
  uint64_t written = 0, read = 0;  // bytes
  std::atomic<int> packs{0};       // constants that it wrote in its own layout
  // What it takes: node n of a graph when the n-th bit is set.
  uint64_t takes = ~uint64_t{0};
  uint32_t longest = 64;          // nodes of a part that it compiles
  std::set<std::string> refuses;  // nodes that never compile
  uint32_t busy_looks = 0;        // waits that are answered with VIREO_BUSY first
  bool hangs = false, lost = false, no_memory = false, no_load = false;
  bool comes_back = false;                   // when it is reset
  int lost_at = -1;                          // it is lost in this submit
  std::set<std::string> wrong;               // nodes that it computes wrongly
  double claimed_ns = 0, compiled_ns = 100;  // of a node
  uint32_t trial_runs = 0;                   // read when a runtime is made
  uint32_t wrong_one_in = 0;                 // runs of a node in `wrong`: one in as many, drawn; 0: all
  uint32_t draws = 1;                        // state of the generator
  int64_t declined_rows = 0;                 // first extent with which it does not take a part of dynamic extents
  const char* driver = "1";                  // its version; read when a runtime is made, as is what follows
  const char* family = "tests";
  bool emulated = true;
  bool coarse = false;          // its results are off by 2^-9 where the session allows other than exact numbers
  bool coarse_unasked = false;  // ... and where not

  std::atomic<int> parts{0}, compiles{0}, loaded{0}, submits{0}, cancels{0};
  std::mutex guard;                                        // of sizes and maths
  std::set<vireo_math> maths;                              // that calls brought
  std::set<std::pair<vireo_priority, uint64_t>> services;  // how loads were to be served: priority and slice
  std::vector<uint32_t> sizes;                             // of the parts that were loaded
  uint64_t max_buffer_bytes = 0;                           // read when a runtime is made
  uint64_t buffer_bytes = 0;                               // of all buffers that are there
  bool tells_time = true;                                  // timeline() has an answer
  std::string code;                                        // that loads keep in a cache, where it is not empty
  std::vector<std::string> code_kept;                      // what they found there before; "none": no cache
} device;

struct Instruction {
  uint16_t op;
  uint16_t wrong;
  int32_t a, b, y;  // values: 0.. inputs, then outputs, then inner ones
};
struct BlobHead {
  uint32_t magic, instructions, inputs, outputs, values, coarse;
  uint64_t most_bytes;
};
constexpr uint32_t kMagic = 0x4a4f494e;

// What a claim hands on.
struct NodeState {
  uint64_t magic;
  uint32_t node;
  vireo_math math;
};
inline void expect_states(const vireo_part& part) {
  for (uint32_t k = 0; k < part.node_count; ++k) {
    const auto* const state = static_cast<const NodeState*>(part.claimed[k]);
    ASSERT_NE(state, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(state) % 16, 0u);
    EXPECT_EQ(state->magic, kMagic);
    EXPECT_EQ(state->node, part.nodes[k]);
    EXPECT_EQ(state->math, part.math);
  }
}

// The constants that a part reads, in the order of its nodes.
inline std::vector<vireo_graph_value> constants_of(const vireo_host& host, const vireo_graph* graph,
                                                   const vireo_part& part) {
  std::vector<vireo_graph_value> found;
  for (uint32_t k = 0; k < part.node_count; ++k) {
    vireo_graph_node node = VIREO_GRAPH_NODE_INIT;
    EXPECT_EQ(host.node(graph, part.nodes[k], &node), VIREO_OK);
    vireo_graph_value v = VIREO_GRAPH_VALUE_INIT;
    if (node.input_count < 2 || host.value(graph, static_cast<uint32_t>(node.inputs[1]), &v) != VIREO_OK) continue;
    if (v.constant != nullptr) found.push_back(v);
  }
  return found;
}

struct Part {
  vireo_host host;
  uint32_t nodes[64];  // of a part with dynamic extents
  uint32_t node_count;
  vireo_place constants[64];
  vireo_place inner_at, mark_at;
  uint64_t mark;
  const BlobHead* head;
  const Instruction* code;
  float* inner;    // most_bytes each, of the values that are neither inputs nor outputs
  float* at[128];  // of the values that go in and come out, in the run under way
  int64_t count;   // elements of each
  vireo_place places[128];
  bool bound, done;
  uint32_t looks;
  bool cancelled;
};

vireo_status enumerate(void*, const vireo_host*, uint32_t index, vireo_device_info* info, void** out) {
  if (index != 0) return VIREO_INVALID_ARGUMENT;
  info->name = "joiner";
  info->detail = "of a test";
  info->driver = device.driver;
  info->family = device.family;
  info->trial_runs = device.trial_runs;
  info->max_buffer_bytes = device.max_buffer_bytes;
  if (device.emulated) info->flags |= VIREO_DEVICE_EMULATED;
  if (device.memory == Memory::kImported) info->flags |= VIREO_DEVICE_UNIFIED;
  *out = &device;
  return VIREO_OK;
}

bool runs(const vireo_host& host, const vireo_graph* graph, uint32_t n, vireo_graph_node* node) {
  *node = {};
  node->struct_size = sizeof(*node);
  if (host.node(graph, n, node) != VIREO_OK) return false;
  const auto op = static_cast<Op>(node->op);
  if (op != Op::kRelu && op != Op::kNeg && op != Op::kAdd && op != Op::kSub) return false;
  for (uint32_t i = 0; i < node->input_count; ++i) {
    vireo_graph_value v = {};
    v.struct_size = sizeof(v);
    if (host.value(graph, static_cast<uint32_t>(node->inputs[i]), &v) != VIREO_OK || v.dtype != VIREO_FLOAT32)
      return false;
    if (v.constant != nullptr && (i != 1 || device.memory == Memory::kHosts)) return false;
  }
  return true;
}

vireo_status claim(void*, const vireo_host* host, const vireo_graph* graph, const vireo_claims* claims) {
  for (uint32_t n = 0; n < host->node_count(graph); ++n) {
    vireo_graph_node node;
    vireo_status status = VIREO_OK;
    if (runs(*host, graph, n, &node) && n < 64 && (device.takes >> n & 1) != 0) {
      const NodeState state = {kMagic, n, claims->math};
      vireo_claim mine = VIREO_CLAIM_INIT;
      mine.node = n;
      mine.kernel = "joined";
      mine.flags = VIREO_CLAIM_JOINS;
      mine.time_ns = device.claimed_ns;
      mine.state = &state;
      mine.state_bytes = sizeof(state);
      status = claims->take(claims->context, &mine);
    } else {
      status = claims->leave(claims->context, n, "not in this test");
    }
    if (status != VIREO_OK) return status;
  }
  return VIREO_OK;
}

vireo_status compile(void*, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                     const vireo_blob* blob, vireo_compiled* out) {
  ++device.compiles;
  expect_states(*part);
  if (device.no_memory) return VIREO_OUT_OF_ARENA;
  if (part->node_count > device.longest) {
    std::snprintf(blob->fault->message, blob->fault->message_bytes, "%u nodes are too many", part->node_count);
    return VIREO_UNSUPPORTED;
  }
  std::vector<Instruction> code;
  std::vector<int32_t> values(part->inputs, part->inputs + part->input_count);
  values.insert(values.end(), part->outputs, part->outputs + part->output_count);
  uint64_t most = 0;
  int32_t constants = 0;
  const auto number = [&](int32_t t) {
    vireo_graph_value v = {};
    v.struct_size = sizeof(v);
    EXPECT_EQ(host->value(graph, static_cast<uint32_t>(t), &v), VIREO_OK);
    uint64_t bytes = 4;
    for (int i = 0; i < v.rank; ++i) bytes *= static_cast<uint64_t>(v.max_dims[i]);
    most = std::max(most, bytes);
    const auto at = std::find(values.begin(), values.end(), t);
    const auto index = static_cast<int32_t>(at - values.begin());
    if (at == values.end()) values.push_back(t);
    return index;
  };
  for (uint32_t k = 0; k < part->node_count; ++k) {
    vireo_graph_node node;
    EXPECT_TRUE(runs(*host, graph, part->nodes[k], &node));
    EXPECT_TRUE(k == 0 || part->nodes[k] == part->nodes[k - 1] + 1);
    if (device.refuses.count(node.name) != 0) {
      std::snprintf(blob->fault->message, blob->fault->message_bytes, "never compiles");
      blob->fault->node = node.name;
      return VIREO_UNSUPPORTED;
    }
    Instruction i = {node.op, static_cast<uint16_t>(device.wrong.count(node.name)), number(node.inputs[0]), -1, -1};
    vireo_graph_value second = VIREO_GRAPH_VALUE_INIT;
    if (node.input_count > 1) {
      EXPECT_EQ(host->value(graph, static_cast<uint32_t>(node.inputs[1]), &second), VIREO_OK);
    }
    if (second.constant != nullptr) {
      i.b = -2 - constants++;
    } else if (node.input_count > 1) {
      i.b = number(node.inputs[1]);
    }
    i.y = number(node.outputs[0]);
    code.push_back(i);
  }
  const BlobHead head = {kMagic,
                         static_cast<uint32_t>(code.size()),
                         part->input_count,
                         part->output_count,
                         static_cast<uint32_t>(values.size()),
                         device.coarse_unasked || (device.coarse && part->math != VIREO_MATH_EXACT) ? 1u : 0u,
                         most};
  {
    const std::lock_guard<std::mutex> lock(device.guard);
    device.maths.insert(part->math);
  }
  auto* to = static_cast<uint8_t*>(blob->reserve(blob->context, sizeof(head) + code.size() * sizeof(Instruction)));
  if (to == nullptr) return VIREO_OUT_OF_ARENA;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(to) % 64, 0u);
  std::memcpy(to, &head, sizeof(head));
  std::memcpy(to + sizeof(head), code.data(), code.size() * sizeof(Instruction));
  out->time_ns = device.compiled_ns * part->node_count;
  return VIREO_OK;
}

vireo_status memory_of(void*, const vireo_host*, const vireo_graph*, const vireo_part* part,
                       const vireo_memory_request* with, vireo_part_memory* out) {
  expect_states(*part);
  EXPECT_NE(with->blob, nullptr);
  const auto& head = *static_cast<const BlobHead*>(with->blob);
  out->state_bytes = sizeof(Part);
  const uint64_t inner = (head.values - head.inputs - head.outputs) * head.most_bytes;
  if (device.memory == Memory::kHosts) {
    out->scratch_bytes = inner;
  } else {
    EXPECT_EQ(with->packs, 1u);
    out->device_scratch_bytes = inner;
    out->device_state_bytes = sizeof(uint64_t);
  }
  return VIREO_OK;
}

vireo_status pack_of(void*, const vireo_host* host, const vireo_graph* graph, const vireo_part* part, uint32_t index,
                     const vireo_thread_pool*, vireo_packed* out, void* to) {
  const auto constants = constants_of(*host, graph, *part);
  if (index >= constants.size()) return VIREO_INVALID_ARGUMENT;
  const vireo_graph_value& v = constants[index];
  out->layout = 1;
  out->constant = v.constant;
  out->sizes[0] = static_cast<int64_t>(v.constant_size);
  out->bytes = v.constant_size;
  out->flags = VIREO_PACKED_ON_DEVICE;
  if (to == nullptr) return VIREO_OK;
  ++device.packs;
  for (size_t i = 0; i < v.constant_size / 4; ++i)
    static_cast<float*>(to)[i] = -static_cast<const float*>(v.constant)[i];
  return VIREO_OK;
}

inline float* float_at(const vireo_place& place) {
  return reinterpret_cast<float*>(static_cast<Buffer*>(place.buffer)->bytes + place.offset);
}
inline void expect_place(const vireo_place* place, uint64_t bytes) {
  ASSERT_NE(place, nullptr);
  auto* const buffer = static_cast<Buffer*>(place->buffer);
  EXPECT_EQ(device.buffers.count(buffer), 1u);
  EXPECT_EQ(place->offset % VIREO_BUFFER_ALIGNMENT, 0u);
  EXPECT_LE(place->offset + bytes, buffer->size);
}
// What the host gives a part on buffers for its inner values, its mark and its constants.
inline void take_places(const vireo_host& host, const vireo_graph* graph, const vireo_part& part,
                        const vireo_load_request& with, Part* p) {
  const uint64_t inner = (p->head->values - p->head->inputs - p->head->outputs) * p->head->most_bytes;
  EXPECT_EQ(with.scratch_at != nullptr, inner != 0);
  if (inner != 0) {
    expect_place(with.scratch_at, inner);
    p->inner_at = *with.scratch_at;
  }
  expect_place(with.state_at, sizeof(uint64_t));
  p->mark_at = *with.state_at;
  p->mark = kMagic + static_cast<uint64_t>(device.parts);
  std::memcpy(float_at(p->mark_at), &p->mark, sizeof(p->mark));
  const auto constants = constants_of(host, graph, part);
  for (size_t i = 0; i < constants.size(); ++i) {
    EXPECT_EQ(with.packed[i], nullptr);
    expect_place(with.packed_at[i], constants[i].constant_size);
    p->constants[i] = *with.packed_at[i];
  }
}

vireo_status load(void*, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                  const vireo_load_request* with, void** loaded) {
  expect_states(*part);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(with->state) % 64, 0u);
  if (device.no_load) return VIREO_OUT_OF_ARENA;
  auto* p = new (with->state) Part();
  p->head = static_cast<const BlobHead*>(with->blob);
  if (p->head->magic != kMagic || with->blob_bytes != sizeof(BlobHead) + p->head->instructions * sizeof(Instruction))
    return VIREO_INVALID_MODEL;
  p->code = reinterpret_cast<const Instruction*>(p->head + 1);
  if (device.memory != Memory::kHosts) take_places(*host, graph, *part, *with, p);
  p->host = *host;
  vireo_graph_value first = VIREO_GRAPH_VALUE_INIT;
  EXPECT_EQ(host->value(graph, static_cast<uint32_t>(part->inputs[0]), &first), VIREO_OK);
  for (uint32_t k = 0; first.is_static == 0 && k < part->node_count && k < 64; ++k)
    p->nodes[p->node_count++] = part->nodes[k];
  if (!device.code.empty()) {
    size_t bytes = 0;
    const void* const kept = with->cache == nullptr ? nullptr : with->cache->get(with->cache->context, "code", &bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(kept) % 64, 0u);
    device.code_kept.push_back(with->cache == nullptr ? "none" : std::string(static_cast<const char*>(kept), bytes));
    if (with->cache != nullptr && kept == nullptr)
      with->cache->put(with->cache->context, "code", device.code.data(), device.code.size());
  }
  ++device.loaded;
  ++device.parts;
  {
    const std::lock_guard<std::mutex> lock(device.guard);  // sessions are made in several threads
    device.sizes.push_back(part->node_count);
    device.services.insert({with->priority, with->slice_ns});
  }
  *loaded = p;
  return VIREO_OK;
}

bool is_wrong_now() {
  if (device.wrong_one_in == 0) return true;
  device.draws = device.draws * 1664525u + 1013904223u;
  return (device.draws >> 8) % device.wrong_one_in == 0;
}

void execute(Part& p) {
  const auto at = [&p](int32_t v) {
    const auto n = static_cast<uint32_t>(v);
    const uint32_t ends = p.head->inputs + p.head->outputs;
    return n < ends ? p.at[n] : p.inner + (n - ends) * (p.head->most_bytes / 4);
  };
  for (uint32_t k = 0; k < p.head->instructions; ++k) {
    const Instruction& i = p.code[k];
    const bool constant = i.b <= -2;
    const float* const a = at(i.a);
    const float* const b = constant ? float_at(p.constants[-2 - i.b]) : i.b < 0 ? nullptr : at(i.b);
    const float sign = constant ? -1 : 1;
    float* y = at(i.y);
    for (int64_t e = 0; e < p.count; ++e) {
      switch (static_cast<Op>(i.op)) {
        case Op::kRelu:
          y[e] = a[e] > 0 ? a[e] : 0;
          break;
        case Op::kNeg:
          y[e] = -a[e];
          break;
        case Op::kAdd:
          y[e] = a[e] + sign * b[e];
          break;
        default:
          y[e] = a[e] - sign * b[e];
      }
      if (p.head->coarse != 0) y[e] *= 1 + 1.0f / 512;
      if (i.wrong != 0 && e == p.count - 1 && is_wrong_now()) y[e] += 1;
    }
  }
}

// What it had is gone, and must not be believed.
void lose() {
  device.lost = true;
  device.queue.clear();
  for (Buffer* b : device.buffers) std::fill(b->own.begin(), b->own.end(), uint8_t{0xff});
}

// In a run the graph shows each value of the part at the extents of that run.
inline void expect_extents(const Part& p, int64_t rows, const vireo_graph* graph) {
  EXPECT_EQ(graph != nullptr, p.node_count != 0);
  for (uint32_t k = 0; graph != nullptr && k < p.node_count; ++k) {
    vireo_graph_node node = VIREO_GRAPH_NODE_INIT;
    EXPECT_EQ(p.host.node(graph, p.nodes[k], &node), VIREO_OK);
    for (uint32_t i = 0; i <= node.input_count; ++i) {
      const int32_t v = i < node.input_count ? node.inputs[i] : node.outputs[0];
      vireo_graph_value value = VIREO_GRAPH_VALUE_INIT;
      EXPECT_EQ(p.host.value(graph, static_cast<uint32_t>(v), &value), VIREO_OK);
      EXPECT_EQ(value.is_static, 1);
      EXPECT_EQ(value.max_dims[0], rows) << value.name;
    }
  }
}

vireo_status submit(void* loaded, const vireo_tensor* const* inputs, uint32_t input_count, vireo_tensor* const* outputs,
                    uint32_t output_count, const vireo_submit* with) {
  auto& p = *static_cast<Part*>(loaded);
  expect_extents(p, inputs[0]->dims[0], with->graph);
  if (p.node_count != 0 && inputs[0]->dims[0] == device.declined_rows) return VIREO_UNSUPPORTED;
  if (device.submits++ == device.lost_at) lose();
  if (device.lost) return VIREO_DEVICE_LOST;
  EXPECT_EQ(input_count, p.head->inputs);
  EXPECT_EQ(output_count, p.head->outputs);
  p.looks = 0;
  p.cancelled = p.done = false;
  p.count = 1;  // all values of a graph have one shape
  for (int i = 0; i < inputs[0]->rank; ++i) p.count *= inputs[0]->dims[i];
  const uint32_t ends = input_count + output_count;
  EXPECT_EQ(p.bound, device.memory != Memory::kHosts);
  for (uint32_t i = 0; i < ends; ++i) {
    void* const data = i < input_count ? inputs[i]->data : outputs[i - input_count]->data;
    if (p.bound) {
      auto* const buffer = static_cast<Buffer*>(p.places[i].buffer);
      EXPECT_EQ(device.buffers.count(buffer), 1u);
      EXPECT_LE(p.places[i].offset + static_cast<uint64_t>(p.count) * 4, buffer->size);
      EXPECT_EQ(p.places[i].offset % (buffer->own.empty() ? 16 : VIREO_BUFFER_ALIGNMENT), 0u);
      p.at[i] = reinterpret_cast<float*>(buffer->bytes + p.places[i].offset);
    } else {
      p.at[i] = static_cast<float*>(data);
    }
  }
  p.inner = static_cast<float*>(with->scratch);
  if (p.bound)
    device.queue.emplace_back([&p] {
      p.inner = p.inner_at.buffer == nullptr ? nullptr : float_at(p.inner_at);
      EXPECT_EQ(std::memcmp(float_at(p.mark_at), &p.mark, sizeof(p.mark)), 0) << "its state is another's";
      execute(p);
      p.done = true;
    });
  return VIREO_OK;
}

// Node k of a part takes 500 ns, 1,000 k behind the begin; what is no node of it nobody may count.
vireo_status timeline(void* loaded, void* context, void (*take)(void* context, const vireo_timeline_entry* entry)) {
  const auto& p = *static_cast<const Part*>(loaded);
  if (!device.tells_time) return VIREO_UNSUPPORTED;
  for (uint32_t k = 0; k <= p.head->instructions; ++k) {
    vireo_timeline_entry entry = VIREO_TIMELINE_ENTRY_INIT;
    entry.node = k == p.head->instructions ? UINT32_MAX : k;
    entry.kernel = "joined";
    entry.begin_ns = 1000 * k;
    entry.end_ns = entry.begin_ns + 500;
    take(context, &entry);
  }
  return VIREO_OK;
}

void flush() {
  for (const auto& command : device.queue) command();
  device.queue.clear();
}
vireo_status bind(void* loaded, const vireo_place* const* inputs, const vireo_place* const* outputs) {
  auto& p = *static_cast<Part*>(loaded);
  p.bound = true;
  for (uint32_t i = 0; i < p.head->inputs; ++i) p.places[i] = *inputs[i];
  for (uint32_t o = 0; o < p.head->outputs; ++o) p.places[p.head->inputs + o] = *outputs[o];
  return VIREO_OK;
}
vireo_status buffer_create(void*, const vireo_host*, uint64_t bytes, void** out) {
  if (device.buffers_left-- <= 0) return VIREO_OUT_OF_ARENA;
  if (device.max_buffer_bytes != 0) {
    EXPECT_LE(bytes, device.max_buffer_bytes);
  }
  device.buffer_bytes += bytes;
  auto* const b = new Buffer();
  b->own.assign(bytes, 0xff);
  b->bytes = b->own.data();
  b->size = bytes;
  device.buffers.insert(b);
  *out = b;
  return VIREO_OK;
}
vireo_status buffer_import(void*, const vireo_host*, const vireo_handle* handle, void** out) {
  if (handle->kind != VIREO_HANDLE_HOST) return VIREO_UNSUPPORTED;
  EXPECT_EQ(handle->value % 4096, 0u);
  auto* const b = new Buffer();
  b->bytes = reinterpret_cast<uint8_t*>(handle->value) + handle->offset;
  b->size = handle->bytes;
  device.buffers.insert(b);
  *out = b;
  return VIREO_OK;
}
vireo_status buffer_export(void*, void* buffer, vireo_handle_kind kind, vireo_handle* out) {
  if (kind != VIREO_HANDLE_HOST) return VIREO_UNSUPPORTED;
  out->kind = kind;
  out->value = reinterpret_cast<uint64_t>(static_cast<Buffer*>(buffer)->bytes);
  out->bytes = static_cast<Buffer*>(buffer)->size;
  return VIREO_OK;
}
void buffer_release(void*, void* buffer) {
  device.buffers.erase(static_cast<Buffer*>(buffer));
  device.buffer_bytes -= static_cast<Buffer*>(buffer)->own.size();
  delete static_cast<Buffer*>(buffer);
}
vireo_status buffer_write(void*, void* buffer, uint64_t offset, const void* from, uint64_t bytes) {
  if (device.lost) return VIREO_DEVICE_LOST;
  auto* const b = static_cast<Buffer*>(buffer);
  EXPECT_LE(offset + bytes, b->size);
  const auto* const p = static_cast<const uint8_t*>(from);
  device.written += bytes;
  if (device.queue.empty()) {
    std::copy(p, p + bytes, b->bytes + offset);
    return VIREO_OK;
  }
  device.queue.emplace_back([b, offset, copy = std::vector<uint8_t>(p, p + bytes)] {
    std::copy(copy.begin(), copy.end(), b->bytes + offset);
  });
  return VIREO_OK;
}
vireo_status buffer_read(void*, void* buffer, uint64_t offset, void* to, uint64_t bytes) {
  if (device.lost) return VIREO_DEVICE_LOST;
  auto* const b = static_cast<Buffer*>(buffer);
  EXPECT_LE(offset + bytes, b->size);
  flush();
  device.read += bytes;
  std::copy(b->bytes + offset, b->bytes + offset + bytes, static_cast<uint8_t*>(to));
  return VIREO_OK;
}

vireo_status wait(void* loaded, uint64_t) {
  auto& p = *static_cast<Part*>(loaded);
  if (p.cancelled) return VIREO_CANCELLED;
  if (device.hangs || p.looks++ < device.busy_looks) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return VIREO_BUSY;
  }
  if (device.lost) return VIREO_DEVICE_LOST;
  if (p.bound) {
    flush();
  } else {
    execute(p);
  }
  return VIREO_OK;
}

void cancel(void* loaded) {
  ++device.cancels;
  if (static_cast<Part*>(loaded)->bound) device.queue.clear();  // what is under way belongs to one run
  static_cast<Part*>(loaded)->cancelled = true;
}
void unload(void*) { --device.loaded; }
vireo_status health(void*) { return device.lost ? VIREO_DEVICE_LOST : VIREO_OK; }
vireo_status reset(void*) {
  if (!device.comes_back) return VIREO_DEVICE_LOST;
  device.lost = false;
  return VIREO_OK;
}
void release(void*) {}

// Members that are not named here are NULL.
vireo_delegate joiner_table(Memory memory) {
  vireo_delegate t = {};
  t.struct_size = sizeof(vireo_delegate);
  t.abi = VIREO_DELEGATE_ABI;
  t.name = "joiner";
  t.enumerate = enumerate;
  t.claim = claim;
  t.memory = memory_of;
  t.load = load;
  t.submit = submit;
  t.unload = unload;
  t.health = health;
  t.release = release;
  t.compile = compile;
  t.wait = wait;
  t.cancel = cancel;
  t.timeline = timeline;
  if (memory == Memory::kHosts) return t;
  t.reset = reset;
  t.pack = pack_of;
  t.bind = bind;
  t.buffer_create = buffer_create;
  t.buffer_import = buffer_import;
  t.buffer_export = buffer_export;
  t.buffer_release = buffer_release;
  t.buffer_write = buffer_write;
  t.buffer_read = buffer_read;
  return t;
}
vireo_delegate kJoiner = joiner_table(Memory::kHosts);

}  // namespace
}  // namespace vireo

#endif  // VIREO_TESTS_PROPERTY_JOINER_H_
