#include "delegates/gpu/device/compile.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "delegates/gpu/device/part.h"
#include "delegates/gpu/lower/lower.h"

namespace vireo::gpu {
namespace {

// Layouts of constants (Weight): as the model has it; with channels and taps exchanged; the same in float16; the same
// of codes of four bits.
constexpr uint32_t kAsItIs = 1, kTurned = 2, kHalves = 3, kNibbles = 4;

vireo_status claim(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_claims* claims) {
  return guarded([&] {
    const Target& target = gpu_of(device).target(math_of(claims));
    const uint32_t count = host->node_count(graph);
    vireo_status status = VIREO_OK;
    for (uint32_t n = 0; n < count && status == VIREO_OK; ++n) {
      vireo_claim taken = VIREO_CLAIM_INIT;
      taken.node = n;
      taken.flags = VIREO_CLAIM_JOINS;
      const std::string why = refusal(target, *host, graph, n, &taken.kernel);
      status = why.empty() ? claims->take(claims->context, &taken) : claims->leave(claims->context, n, why.c_str());
    }
    return status;
  });
}

// The constants that a schedule names, as the host is to keep them.
vireo_status list_weights(const vireo_host& host, const vireo_graph* graph, const vireo_part& part,
                          const Schedule& schedule, Gpu::Weights* out) {
  out->graph = graph;
  out->nodes.assign(part.nodes, part.nodes + part.node_count);
  out->math = math_of(&part);
  for (const Weight& w : schedule.weights) {
    const vireo_graph* owner = graph;
    if (w.node >= 0) {
      vireo_graph_node node = VIREO_GRAPH_NODE_INIT;
      if (static_cast<uint32_t>(w.node) >= part.node_count || host.node(graph, part.nodes[w.node], &node) != VIREO_OK ||
          node.body == nullptr)
        return VIREO_INVALID_MODEL;
      owner = node.body;
    }
    vireo_graph_value value = VIREO_GRAPH_VALUE_INIT;
    if (w.value < 0 || host.value(owner, static_cast<uint32_t>(w.value), &value) != VIREO_OK ||
        value.constant == nullptr || value.constant_size < w.source_bytes())
      return VIREO_INVALID_MODEL;
    vireo_packed packed = VIREO_PACKED_INIT;
    packed.layout = w.element == 0 ? kAsItIs : w.halves ? kHalves : w.nibbles ? kNibbles : kTurned;
    packed.constant = value.constant;
    packed.sizes[0] = static_cast<int64_t>(w.bytes);
    packed.sizes[1] = w.channels;
    packed.sizes[2] = w.taps;
    packed.sizes[3] = w.element;
    packed.bytes = w.bytes;
    packed.flags = VIREO_PACKED_ON_DEVICE;
    out->list.push_back(packed);
    out->kept.push_back(w);
  }
  return VIREO_OK;
}

vireo_status compile_part(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                          const vireo_blob* blob, vireo_compiled*) {
  return guarded([&] {
    Schedule schedule;
    Gpu& gpu = gpu_of(device);
    const vireo_math math = math_of(part);
    const Refusal refused = lower_part(gpu.target(math), *host, graph, *part, &schedule, &gpu.made(math));
    if (!refused.why.empty()) {
      say(blob->fault, refused.why);
      blob->fault->node = refused.node;
      return vireo_status{VIREO_UNSUPPORTED};
    }
    const std::vector<uint8_t> bytes = write_schedule(schedule);
    void* const to = blob->reserve(blob->context, bytes.size());
    if (to == nullptr) return vireo_status{VIREO_OUT_OF_ARENA};
    std::memcpy(to, bytes.data(), bytes.size());
    return vireo_status{VIREO_OK};
  });
}

vireo_status memory_of(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                       const vireo_memory_request* with, vireo_part_memory* out) {
  return guarded([&] {
    Gpu& gpu = gpu_of(device);
    Schedule schedule;
    const char* const why = read_schedule(with->blob, with->blob_bytes, gpu.target(math_of(part)), &schedule);
    if (why[0] != 0) {
      host->log(host->context, VIREO_LOG_ERROR, (gpu.name() + ": the compiled part is refused: " + why).c_str());
      return vireo_status{VIREO_INVALID_MODEL};
    }
    auto weights = std::make_shared<Gpu::Weights>();
    if (const vireo_status status = list_weights(*host, graph, *part, schedule, weights.get()); status != VIREO_OK)
      return status;
    gpu.keep(std::move(weights));
    out->state_bytes = (sizeof(Part) + 63) / 64 * 64;
    out->device_scratch_bytes = schedule.inner_bytes;
    out->device_state_bytes = schedule.data.size();
    return vireo_status{VIREO_OK};
  });
}

// Millions of weights become halves while a model loads.
void keep_by_threads(const Weight& weight, const void* from, void* to, const vireo_thread_pool* threads) {
  constexpr int64_t kGrain = 1 << 14;
  struct Task {
    const Weight& weight;
    const void* from;
    void* to;
  } task = {weight, from, to};
  const auto runs = static_cast<int64_t>(runs_of(weight));
  const auto run = [](void* arg, int64_t begin, int64_t end, int32_t) {
    const Task& t = *static_cast<const Task*>(arg);
    keep_weight(t.weight, t.from, t.to, static_cast<uint64_t>(begin), static_cast<uint64_t>(end));
  };
  if (threads == nullptr) return run(&task, 0, runs, 0);
  const int64_t each = weight.taps == 0 ? 1 : int64_t{weight.channels} * weight.taps;
  threads->run(threads->pool, runs, std::max<int64_t>(1, kGrain / each), run, &task);
}

vireo_status pack(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                  uint32_t index, const vireo_thread_pool* threads, vireo_packed* out, void* to) {
  return guarded([&] {
    Gpu& gpu = gpu_of(device);
    std::shared_ptr<const Gpu::Weights> weights = gpu.weights(graph, *part);
    if (weights == nullptr) {
      Schedule schedule;
      auto found = std::make_shared<Gpu::Weights>();
      if (!lower_part(gpu.target(math_of(part)), *host, graph, *part, &schedule).why.empty() ||
          list_weights(*host, graph, *part, schedule, found.get()) != VIREO_OK)
        return vireo_status{VIREO_UNSUPPORTED};
      weights = found;
      gpu.keep(std::move(found));
    }
    if (index >= weights->list.size()) return vireo_status{VIREO_INVALID_ARGUMENT};
    const uint32_t size = out->struct_size;
    *out = weights->list[index];
    out->struct_size = size;
    if (to != nullptr) keep_by_threads(weights->kept[index], out->constant, to, threads);
    return vireo_status{VIREO_OK};
  });
}

}  // namespace

void say(vireo_fault* fault, const std::string& what) {
  std::snprintf(fault->message, fault->message_bytes, "%s", what.c_str());
}

void add_compiler(vireo_delegate* table) {
  table->claim = claim;
  table->compile = compile_part;
  table->memory = memory_of;
  table->pack = pack;
}

}  // namespace vireo::gpu
