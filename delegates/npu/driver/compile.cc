// Which nodes the device takes, and what a part of them becomes.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "delegates/npu/compiler/compiler.h"
#include "delegates/npu/driver/instance.h"
#include "delegates/npu/driver/read.h"
#include "vireo/ops.h"

namespace vireo::npu {
namespace {

uint64_t cycles_of(double cycles) { return cycles < 1 ? 1 : static_cast<uint64_t>(cycles); }

// What a layer takes at least, for the host to weigh: the engine's steps or the bytes that come and go, whichever is
// more. The compiler's own word follows when the part is whole.
uint64_t estimate(const MachineConfig& c, const Graph& g, const Layer& l) {
  const GraphTensor& y = g.tensors[static_cast<size_t>(l.output)];
  double bytes = static_cast<double>(y.bytes() + static_cast<int64_t>(l.weights.size()));
  for (const int t : l.inputs) bytes += static_cast<double>(g.tensors[static_cast<size_t>(t)].bytes());
  double cycles = static_cast<double>(y.count()) / (l.kind == Kind::kQuantize ? c.dividers : c.vector_lanes);
  if (l.kind == Kind::kConv && !l.weights.empty()) {
    const double outputs = static_cast<double>(y.shape[3]);
    const double terms = static_cast<double>(l.weights.size()) / outputs;
    const double pixels = static_cast<double>(y.count()) / outputs;
    const auto up = [](double n, double unit) { return static_cast<double>(cycles_of((n + unit - 1) / unit)); };
    const double steps = up(outputs, c.array_out) * up(terms, c.array_in);
    cycles = steps * (pixels > c.array_in ? pixels : c.array_in);
  }
  const double moved = bytes / c.dram_bytes_per_cycle;
  return cycles_of(cycles > moved ? cycles : moved);
}

// Sums in float32 are taken where codes are made of them and of nothing else: every other reader would have the result
// brought back, and a graph in float32 would come here in crumbs.
class Readers {
 public:
  Readers(const vireo_host& host, const vireo_graph* graph) : graph_(host, graph) {
    const uint32_t count = graph_.node_count();
    for (uint32_t n = 0; n < count; ++n) {
      const vireo_graph_node node = graph_.node(n);
      for (uint32_t i = 0; i < node.input_count; ++i) readers_.emplace(node.inputs[i], n);
    }
    for (uint32_t o = 0; o < graph_.output_count(); ++o) outputs_.insert(graph_.output(o));
    // Readers stand behind what they read: each node once, however many ways lead from one to another.
    codes_.assign(count, false);
    for (uint32_t n = count; n-- > 0;) codes_[n] = is_real_sum(graph_.node(n).op) && become_codes(n);
  }
  bool become_codes(uint32_t n) const {
    const vireo_graph_node node = graph_.node(n);
    if (node.output_count != 1 || outputs_.count(node.outputs[0]) != 0) return false;
    const auto [first, last] = readers_.equal_range(node.outputs[0]);
    for (auto r = first; r != last; ++r) {
      const uint16_t op = graph_.node(r->second).op;
      if (op != VIREO_OP_QUANTIZE_LINEAR && !(is_real_sum(op) && codes_[r->second])) return false;
    }
    return first != last;
  }

 private:
  GraphReader graph_;
  std::multimap<int32_t, uint32_t> readers_;
  std::set<int32_t> outputs_;
  std::vector<bool> codes_;  // sums that become codes and nothing else
};

Boundary boundary_of(const Graph& g, const Compiled& c, int tensor) {
  const auto t = static_cast<size_t>(tensor);
  return {c.region[t], static_cast<uint32_t>(c.address[t]), static_cast<uint32_t>(g.tensors[t].bytes())};
}

vireo_status refuse(const vireo_blob* blob, const std::string& why, const char* node = nullptr) {
  std::snprintf(blob->fault->message, blob->fault->message_bytes, "%s", why.c_str());
  blob->fault->node = node;
  return VIREO_UNSUPPORTED;
}

vireo_status claim_nodes(Driver& d, const vireo_host* host, const vireo_graph* graph, const vireo_claims* claims) {
  const uint32_t count = host->node_count(graph);
  const Readers readers(*host, graph);
  for (uint32_t n = 0; n < count; ++n) {
    ReadGraph read;
    std::string why = read.add(*host, graph, n);
    uint64_t cycles = 0;
    if (why.empty()) {
      const Lowered lowered(read);
      for (const std::string& reason : lowered.reasons) {
        if (why.empty()) why = reason;
      }
      for (const ReadNode& node : read.nodes) {
        if (why.empty() && is_real_sum(node.op) && (read.nodes.size() > 1 || !readers.become_codes(n)))
          why = "float32 that no codes are made of";
      }
      for (const Layer& l : lowered.graph.layers) cycles += why.empty() ? estimate(d.config, lowered.graph, l) : 0;
    }
    vireo_status status = VIREO_OK;
    if (!why.empty()) {
      status = claims->leave(claims->context, n, why.c_str());
    } else {
      vireo_claim mine = VIREO_CLAIM_INIT;
      mine.node = n;
      mine.kernel = "npu";
      mine.flags = VIREO_CLAIM_JOINS;
      mine.time_ns = static_cast<double>(cycles) * 1000 / d.config.clock_mhz;
      status = claims->take(claims->context, &mine);
    }
    if (status != VIREO_OK) return status;
  }
  return VIREO_OK;
}

vireo_status compile_nodes(Driver& d, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                           const vireo_blob* blob, vireo_compiled* out) {
  if (!d.device->has_memory()) {
    (void)refuse(blob, "the device has no memory left");
    return VIREO_OUT_OF_ARENA;
  }
  if (part->input_count > kMostValues || part->output_count > kMostValues)
    return refuse(blob, "more values go in or come out than a part may have: " + std::to_string(kMostValues));
  ReadGraph read;
  for (uint32_t k = 0; k < part->node_count; ++k) {
    if (const char* why = read.add(*host, graph, part->nodes[k]); why[0] != 0) return refuse(blob, why);
  }
  Lowered lowered(read);
  for (size_t k = 0; k < lowered.reasons.size(); ++k) {
    if (!lowered.reasons[k].empty()) return refuse(blob, lowered.reasons[k], read.nodes[k].name);
  }
  std::vector<int> outputs;
  for (uint32_t o = 0; o < part->output_count; ++o) {
    const auto at = read.number.find(part->outputs[o]);
    const int t = at == read.number.end() ? -1 : lowered.output(at->second);
    if (t < 0) return refuse(blob, "no layer makes an output of the part");
    outputs.push_back(t);
  }
  const Graph& g = lowered.graph;
  CompileOptions options = d.options;
  options.own_regions = true;
  if (g.layers.empty()) return refuse(blob, "nothing is computed here");
  const Compiled compiled = compile(g, d.config, options);
  if (!compiled.error.empty()) {
    const int at = compiled.error_layer;
    return refuse(blob, (at < 0 ? "" : g.layers[static_cast<size_t>(at)].name + ": ") + compiled.error);
  }
  if (static_cast<uint64_t>(compiled.tensor_bytes) + compiled.constants.size() + compiled.stream.size() * 4 >
      kDeviceBytes)
    return refuse(blob, "it takes more than the device's memory");
  BlobHeader header{};
  header.magic = kBlobMagic;
  header.version = kBlobVersion;
  header.config = config_number(d.config);
  header.inputs = part->input_count;
  header.outputs = part->output_count;
  header.stream_bytes = static_cast<uint32_t>(compiled.stream.size() * sizeof(uint32_t));
  header.constant_bytes = static_cast<uint32_t>(compiled.constants.size());
  header.tensor_bytes = static_cast<uint32_t>(compiled.tensor_bytes);
  header.cycles = compiled.counters.cycles;
  header.layers = static_cast<uint32_t>(g.layers.size());
  const auto bytes = static_cast<size_t>(blob_bytes(header));
  std::vector<uint32_t> nodes;  // of the layers
  for (const Layer& l : g.layers) {
    const uint32_t* const end = part->nodes + part->node_count;
    nodes.push_back(static_cast<uint32_t>(std::find(part->nodes, end, static_cast<uint32_t>(l.node)) - part->nodes));
  }
  std::vector<Boundary> boundary;
  for (uint32_t i = 0; i < part->input_count; ++i) {
    // A value that no layer reads in the end (its shape alone was wanted) needs no place.
    Boundary b{kTensors, 0, 0};
    for (size_t k = 0; k < lowered.given.size(); ++k) {
      const int t = g.inputs[k];
      const auto at = read.number.find(part->inputs[i]);
      if (at == read.number.end() || at->second != lowered.given[k] || compiled.address[static_cast<size_t>(t)] < 0)
        continue;
      b = boundary_of(g, compiled, t);
    }
    boundary.push_back(b);
  }
  for (const int t : outputs) {
    if (compiled.address[static_cast<size_t>(t)] < 0) return refuse(blob, "an output of the part is constant");
    boundary.push_back(boundary_of(g, compiled, t));
  }
  auto* const to = static_cast<uint8_t*>(blob->reserve(blob->context, bytes));
  if (to == nullptr) {
    (void)refuse(blob, "the host has no " + std::to_string(bytes) + " bytes for it");
    return VIREO_OUT_OF_ARENA;
  }
  std::memset(to, 0, bytes);
  std::memcpy(to + boundary_at(), boundary.data(), boundary.size() * sizeof(Boundary));
  std::memcpy(to + stream_at(header.inputs, header.outputs), compiled.stream.data(), header.stream_bytes);
  if (header.constant_bytes != 0)
    std::memcpy(to + constants_at(header.inputs, header.outputs, header.stream_bytes), compiled.constants.data(),
                header.constant_bytes);
  std::memcpy(to + nodes_at(header), nodes.data(), nodes.size() * sizeof(uint32_t));
  header.hash = hash_of(to + sizeof(header), bytes - sizeof(header));
  std::memcpy(to, &header, sizeof(header));
  if (!d.reports.add(g, compiled, d.config))
    host->log(host->context, VIREO_LOG_WARNING, "npu: the file of VIREO_NPU_REPORT cannot be written");
  out->time_ns = static_cast<double>(compiled.counters.cycles) * 1000 / d.config.clock_mhz + kLaunchNs;
  out->energy_nj = compiled.counters.energy_pj / 1000;
  out->moved_bytes = compiled.counters.dram_read + compiled.counters.dram_written;
  return VIREO_OK;
}

}  // namespace

vireo_status claim(void* self, const vireo_host* host, const vireo_graph* graph, const vireo_claims* claims) {
  return guarded([&] { return claim_nodes(*static_cast<Driver*>(self), host, graph, claims); });
}

vireo_status compile_part(void* self, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                          const vireo_blob* blob, vireo_compiled* out) {
  return guarded([&] { return compile_nodes(*static_cast<Driver*>(self), host, graph, part, blob, out); });
}

}  // namespace vireo::npu
