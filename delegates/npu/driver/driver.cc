// The driver as the host sees it: vireo/delegate.h's table over one emulated device.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <set>
#include <string>

#include "delegates/npu/compiler/compiler.h"
#include "delegates/npu/driver/device.h"
#include "delegates/npu/driver/driver.h"
#include "delegates/npu/driver/read.h"
#include "delegates/npu/driver/reports.h"
#include "vireo/ops.h"

namespace vireo::npu {
namespace {

// Memory of the device's own, for what does not fit its local one.
constexpr uint64_t kDeviceBytes = uint64_t{256} << 20;
constexpr double kLaunchNs = 2000;  // a doorbell, an interrupt, and two looks at a list

struct Driver {
  vireo_delegate table;
  vireo_host host;
  MachineConfig config;
  uint8_t* sram;
  Device* device;
  Reports reports;
  char detail[96];
};

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

vireo_status enumerate(void* self, const vireo_host*, uint32_t index, vireo_device_info* info, void** device) {
  auto& d = *static_cast<Driver*>(self);
  if (index != 0) return VIREO_INVALID_ARGUMENT;
  const double hz = d.config.clock_mhz * 1e6;
  info->name = "npu";
  info->detail = d.detail;
  info->vendor = "Vireo";
  info->family = "reference NPU";
  info->driver = "1";
  info->flags = VIREO_DEVICE_EMULATED | VIREO_DEVICE_UNIFIED | VIREO_DEVICE_MATRIX;
  info->types = uint64_t{1} << VIREO_INT8 | uint64_t{1} << VIREO_UINT8;
  info->memory_bytes = kDeviceBytes;
  info->local_bytes = d.config.sram_bytes;
  info->i8_rate = 2.0 * d.config.array_in * d.config.array_out * hz;
  info->bandwidth = d.config.dram_bytes_per_cycle * hz;
  info->launch_ns = kLaunchNs;
  info->idle_watts = d.config.fj_idle_cycle * 1e-15 * hz;
  info->busy_watts = info->idle_watts + d.config.array_in * d.config.array_out * (d.config.fj_mac8 * 1e-15) * hz;
  *device = self;
  return VIREO_OK;
}

// Sums in float32 are taken where codes are made of them and of nothing else: every other reader would have the result
// brought back, and a graph in float32 would come here in crumbs.
class Readers {
 public:
  Readers(const vireo_host& host, const vireo_graph* graph) : host_(host), graph_(graph) {
    for (uint32_t n = 0; n < host.node_count(graph); ++n) {
      const vireo_graph_node node = at(n);
      for (uint32_t i = 0; i < node.input_count; ++i) readers_.emplace(node.inputs[i], n);
    }
    for (uint32_t o = 0; o < host.output_count(graph); ++o) outputs_.insert(host.output(graph, o));
  }
  bool become_codes(uint32_t n) const {
    const vireo_graph_node node = at(n);
    if (node.output_count != 1 || outputs_.count(node.outputs[0]) != 0) return false;
    const auto [first, last] = readers_.equal_range(node.outputs[0]);
    for (auto r = first; r != last; ++r) {
      const uint16_t op = at(r->second).op;
      if (op != VIREO_OP_QUANTIZE_LINEAR && !(is_real_sum(op) && become_codes(r->second))) return false;
    }
    return first != last;
  }

 private:
  vireo_graph_node at(uint32_t n) const {
    vireo_graph_node node{};
    node.struct_size = sizeof(node);
    if (host_.node(graph_, n, &node) != VIREO_OK) node = vireo_graph_node{};
    return node;
  }
  const vireo_host& host_;
  const vireo_graph* graph_;
  std::multimap<int32_t, uint32_t> readers_;
  std::set<int32_t> outputs_;
};

vireo_status claim(void* self, const vireo_host* host, const vireo_graph* graph, const vireo_claims* claims) {
  const auto& d = *static_cast<Driver*>(self);
  const uint32_t count = host->node_count(graph);
  const Readers readers(*host, graph);
  for (uint32_t n = 0; n < count; ++n) {
    ReadGraph read;
    const char* why = read.add(*host, graph, n);
    uint64_t cycles = 0;
    if (why[0] == 0) {
      const Lowered lowered(read);
      for (const char* reason : lowered.reasons) {
        if (why[0] == 0) why = reason;
      }
      for (const ReadNode& node : read.nodes) {
        if (why[0] == 0 && is_real_sum(node.op) && (read.nodes.size() > 1 || !readers.become_codes(n)))
          why = "float32 that no codes are made of";
      }
      for (const Layer& l : lowered.graph.layers) cycles += estimate(d.config, lowered.graph, l);
    }
    vireo_status status = VIREO_OK;
    if (why[0] != 0) {
      status = claims->leave(claims->context, n, why);
    } else {
      vireo_part part = VIREO_PART_INIT;
      part.nodes = &n;
      part.node_count = 1;
      part.kernel = "npu";
      part.flags = VIREO_PART_JOINS;
      part.time_ns = static_cast<double>(cycles) * 1000 / d.config.clock_mhz;
      status = claims->take(claims->context, &part);
    }
    if (status != VIREO_OK) return status;
  }
  return VIREO_OK;
}

vireo_status refuse(const vireo_blob* blob, const std::string& why) {
  std::snprintf(blob->message, blob->message_bytes, "%s", why.c_str());
  return VIREO_UNSUPPORTED;
}

vireo_status compile_part(void* self, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                          const vireo_blob* blob, vireo_compiled* out) {
  auto& d = *static_cast<Driver*>(self);
  if (!d.device->has_memory()) {
    std::snprintf(blob->message, blob->message_bytes, "the device has no memory left");
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
    if (lowered.reasons[k][0] != 0) return refuse(blob, read.nodes[k].name + ": " + lowered.reasons[k]);
  }
  std::vector<int> outputs;
  for (uint32_t o = 0; o < part->output_count; ++o) {
    const auto at = read.number.find(part->outputs[o]);
    const int t = at == read.number.end() ? -1 : lowered.output(at->second);
    if (t < 0) return refuse(blob, "no layer makes an output of the part");
    outputs.push_back(t);
  }
  const Graph& g = lowered.graph;
  if (g.layers.empty()) return refuse(blob, "nothing is computed here");
  const Compiled compiled = compile(g, d.config);
  if (!compiled.error.empty()) {
    const int at = compiled.error_layer;
    return refuse(blob, (at < 0 ? "" : g.layers[static_cast<size_t>(at)].name + ": ") + compiled.error);
  }
  if (static_cast<uint64_t>(compiled.tensor_bytes) + compiled.constants.size() > kDeviceBytes)
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
  const size_t bytes = blob_bytes(header.inputs, header.outputs, header.stream_bytes, header.constant_bytes);
  std::vector<Boundary> boundary;
  for (uint32_t i = 0; i < part->input_count; ++i) {
    // A value that no layer reads in the end (its shape alone was wanted) needs no place.
    Boundary b{0, 0};
    for (size_t k = 0; k < lowered.given.size(); ++k) {
      const int t = g.inputs[k];
      if (read.number.at(part->inputs[i]) != lowered.given[k] || compiled.address[static_cast<size_t>(t)] < 0) continue;
      b = {static_cast<uint32_t>(compiled.address[static_cast<size_t>(t)]),
           static_cast<uint32_t>(g.tensors[static_cast<size_t>(t)].bytes())};
    }
    boundary.push_back(b);
  }
  for (const int t : outputs) {
    if (compiled.address[static_cast<size_t>(t)] < 0) return refuse(blob, "an output of the part is constant");
    boundary.push_back({static_cast<uint32_t>(compiled.address[static_cast<size_t>(t)]),
                        static_cast<uint32_t>(g.tensors[static_cast<size_t>(t)].bytes())});
  }
  auto* const to = static_cast<uint8_t*>(blob->reserve(blob->context, bytes));
  if (to == nullptr) {
    std::snprintf(blob->message, blob->message_bytes, "the host has no %zu bytes for it", bytes);
    return VIREO_OUT_OF_ARENA;
  }
  std::memset(to, 0, bytes);
  std::memcpy(to + boundary_at(), boundary.data(), boundary.size() * sizeof(Boundary));
  std::memcpy(to + stream_at(header.inputs, header.outputs), compiled.stream.data(), header.stream_bytes);
  if (header.constant_bytes != 0)
    std::memcpy(to + constants_at(header.inputs, header.outputs, header.stream_bytes), compiled.constants.data(),
                header.constant_bytes);
  header.hash = hash_of(to + sizeof(header), bytes - sizeof(header));
  std::memcpy(to, &header, sizeof(header));
  if (!d.reports.add(g, compiled, d.config))
    host->log(host->context, VIREO_LOG_WARNING, "npu: the file of VIREO_NPU_REPORT cannot be written");
  out->time_ns = static_cast<double>(compiled.counters.cycles) * 1000 / d.config.clock_mhz + kLaunchNs;
  out->energy_nj = compiled.counters.energy_pj / 1000;
  out->moved_bytes = compiled.counters.dram_read + compiled.counters.dram_written;
  return VIREO_OK;
}

// The header is read before load() has checked the blob: sizes from it are bounded.
vireo_status memory_of(void*, const vireo_host*, const vireo_graph*, const vireo_part* part, int32_t,
                       vireo_part_memory* out) {
  if (part->blob == nullptr || part->blob_bytes < sizeof(BlobHeader)) return VIREO_INVALID_MODEL;
  const auto& h = *static_cast<const BlobHeader*>(part->blob);
  if (h.magic != kBlobMagic || h.tensor_bytes > kDeviceBytes) return VIREO_INVALID_MODEL;
  out->state_bytes = (sizeof(Part) + 63) / 64 * 64 + h.tensor_bytes;
  out->scratch_bytes = 0;
  return VIREO_OK;
}

vireo_status load(void* self, const vireo_host* host, const vireo_graph*, const vireo_part* part, int32_t, void* state,
                  void** loaded) {
  auto& d = *static_cast<Driver*>(self);
  if (!d.device->has_memory()) return VIREO_OUT_OF_ARENA;
  auto* const p = new (state) Part();
  const char* why = open_blob(d.config, part->blob, part->blob_bytes, &p->blob);
  if (why[0] == 0 && (p->blob.header->inputs != part->input_count || p->blob.header->outputs != part->output_count))
    why = "compiled for another part";
  if (why[0] != 0) {
    const std::string text = std::string("npu: a part is refused: ") + why;
    host->log(host->context, VIREO_LOG_ERROR, text.c_str());
    p->~Part();
    return VIREO_INVALID_MODEL;
  }
  p->tensors = static_cast<uint8_t*>(state) + (sizeof(Part) + 63) / 64 * 64;
  d.device->load(p);
  *loaded = p;
  return VIREO_OK;
}

vireo_status submit(void* loaded, const vireo_tensor* const* inputs, uint32_t input_count, vireo_tensor* const* outputs,
                    uint32_t output_count, const vireo_submit* with) {
  auto* const p = static_cast<Part*>(loaded);
  const BlobHeader& h = *p->blob.header;
  const auto complain = [with](const char* text) {
    std::snprintf(with->message, with->message_bytes, "%s", text);
    return vireo_status{VIREO_INVALID_ARGUMENT};
  };
  if (input_count != h.inputs || output_count != h.outputs) return complain("another number of values than compiled");
  for (uint32_t i = 0; i < input_count; ++i) {
    if (inputs[i] == nullptr || inputs[i]->capacity < p->blob.boundary[i].bytes)
      return complain("an input is too small");
    p->inputs[i] = inputs[i];
  }
  for (uint32_t o = 0; o < output_count; ++o) {
    if (outputs[o] == nullptr || outputs[o]->capacity < p->blob.boundary[input_count + o].bytes)
      return complain("an output is too small");
    p->outputs[o] = outputs[o];
  }
  const vireo_status status = p->device->submit(p);
  if (status == VIREO_DEVICE_LOST && with->message_bytes > 0)
    std::snprintf(with->message, with->message_bytes, "the device is lost");
  return status;
}

vireo_status wait(void* loaded, uint64_t timeout_ns) {
  auto* const p = static_cast<Part*>(loaded);
  return p->device->wait(p, timeout_ns);
}
void cancel(void* loaded) {
  auto* const p = static_cast<Part*>(loaded);
  p->device->cancel(p);
}
void unload(void* loaded) {
  auto* const p = static_cast<Part*>(loaded);
  p->device->cancel(p);
  p->~Part();
}
vireo_status health(void* self) { return static_cast<Driver*>(self)->device->health(); }
vireo_status reset(void* self) { return static_cast<Driver*>(self)->device->reset(); }
vireo_status telemetry(void* self, vireo_telemetry* out) {
  static_cast<Driver*>(self)->device->telemetry(out);
  return VIREO_OK;
}

void release(void* self) {
  auto* const d = static_cast<Driver*>(self);
  const vireo_host host = d->host;
  const size_t sram_bytes = Machine::memory_bytes(d->config);
  delete d->device;
  host.release(host.context, d->sram, sram_bytes, 64);
  d->~Driver();
  host.release(host.context, d, sizeof(Driver), 64);
}

}  // namespace
}  // namespace vireo::npu

extern "C" vireo_status vireo_npu_open(uint32_t abi, const vireo_host* host, const vireo_delegate** out) {
  using namespace vireo::npu;
  if (host == nullptr || out == nullptr) return VIREO_INVALID_ARGUMENT;
  *out = nullptr;
  if (abi != VIREO_DELEGATE_ABI || host->struct_size < sizeof(vireo_host)) return VIREO_UNSUPPORTED;
  FaultPlan plan;
  MachineConfig config;
#if VIREO_NPU_THREAD
  if (const char* text = std::getenv("VIREO_NPU_SRAM"); text != nullptr) {
    char* end = nullptr;
    const long kib = std::strtol(text, &end, 10);
    config.sram_bytes = *end != 0 || kib < 0 || kib > 65536 ? 0 : static_cast<uint32_t>(kib) * 1024;
    if (!config_ok(config)) {
      host->log(host->context, VIREO_LOG_ERROR, "VIREO_NPU_SRAM: wanted KiB of local memory, 1 to 65536");
      return VIREO_INVALID_ARGUMENT;
    }
  }
  if (const char* text = std::getenv("VIREO_NPU_FAULT"); text != nullptr && !plan.read(text)) {
    host->log(
        host->context, VIREO_LOG_ERROR,
        "VIREO_NPU_FAULT: wanted hang@N, corrupt@N, lost@N, memory@N, wrong, random=SEED:PERCENT, with commas between");
    return VIREO_INVALID_ARGUMENT;
  }
#endif
  void* const memory = host->allocate(host->context, sizeof(Driver), 64);
  if (memory == nullptr) return VIREO_OUT_OF_ARENA;
  auto* const d = new (memory) Driver();
  d->host = *host;
  d->config = config;
  const size_t sram_bytes = Machine::memory_bytes(d->config);
  d->sram = static_cast<uint8_t*>(host->allocate(host->context, sram_bytes, 64));
  d->device = d->sram == nullptr ? nullptr : new (std::nothrow) Device(d->config, d->sram, plan);
  if (d->device == nullptr) {
    if (d->sram != nullptr) host->release(host->context, d->sram, sram_bytes, 64);
    d->~Driver();
    host->release(host->context, memory, sizeof(Driver), 64);
    return VIREO_OUT_OF_ARENA;
  }
#if VIREO_NPU_THREAD
  if (const char* path = std::getenv("VIREO_NPU_REPORT"); path != nullptr && !d->reports.open(path)) {
    host->log(host->context, VIREO_LOG_ERROR, "VIREO_NPU_REPORT names a file that cannot be written");
    release(d);
    return VIREO_INVALID_ARGUMENT;
  }
#endif
  std::snprintf(d->detail, sizeof(d->detail), "%u x %u products a cycle, %u MHz, %u KiB local, in software",
                d->config.array_out, d->config.array_in, d->config.clock_mhz, d->config.sram_bytes / 1024);
  d->table = {sizeof(vireo_delegate),
              VIREO_DELEGATE_ABI,
              "npu",
              d,
              enumerate,
              claim,
              memory_of,
              nullptr,
              load,
              submit,
              unload,
              health,
              release,
              compile_part,
              wait,
              cancel,
              reset,
              telemetry};
  *out = &d->table;
  return VIREO_OK;
}
