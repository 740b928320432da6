// The driver as the host sees it: vireo/delegate.h's table over one emulated device, opened or linked in.
#include "delegates/npu/driver/driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "delegates/npu/driver/instance.h"

namespace vireo::npu {
namespace {

vireo_status enumerate(void* self, const vireo_host*, uint32_t index, vireo_device_info* info, void** device) {
  auto& d = *static_cast<Driver*>(self);
  if (index != 0) return VIREO_INVALID_ARGUMENT;
  const double hz = d.config.clock_mhz * 1e6;
  info->name = "npu";
  info->detail = d.detail;
  info->vendor = "Vireo";
  info->family = "reference NPU";
  info->driver = "1";
  info->flags = VIREO_DEVICE_EMULATED | VIREO_DEVICE_MATRIX;
  if (d.memory == MemoryKind::kOwn) {
    info->transfer = kTransfer;
  } else {
    info->flags |= VIREO_DEVICE_UNIFIED;
  }
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

// A part's state: itself, what each of its layers took, its tensors.
size_t tensors_in_state(const BlobHeader& h) {
  return (sizeof(Part) + sizeof(LayerCounters) * h.layers + 63) / 64 * 64;
}

// The header is read before load() has checked the blob: sizes from it are bounded.
vireo_status memory_of(void*, const vireo_host*, const vireo_graph*, const vireo_part*,
                       const vireo_memory_request* with, vireo_part_memory* out) {
  if (with->blob == nullptr || with->blob_bytes < sizeof(BlobHeader)) return VIREO_INVALID_MODEL;
  const auto& h = *static_cast<const BlobHeader*>(with->blob);
  if (h.magic != kBlobMagic || h.tensor_bytes > kDeviceBytes || h.layers > with->blob_bytes) return VIREO_INVALID_MODEL;
  out->state_bytes = tensors_in_state(h) + h.tensor_bytes;
  out->scratch_bytes = 0;
  return VIREO_OK;
}

vireo_status load(void* self, const vireo_host*, const vireo_graph*, const vireo_part* part,
                  const vireo_load_request* with, void** loaded) {
  auto& d = *static_cast<Driver*>(self);
  if (!d.device->has_memory()) return VIREO_OUT_OF_ARENA;
  auto* const p = new (with->state) Part();
  p->rank = 1;
  const char* why = open_blob(d.config, with->blob, with->blob_bytes, &p->blob);
  if (why[0] == 0 && (p->blob.header->inputs != part->input_count || p->blob.header->outputs != part->output_count))
    why = "compiled for another part";
  if (why[0] != 0) {
    std::snprintf(with->fault->message, with->fault->message_bytes, "the compiled part is refused: %s", why);
    p->~Part();
    return VIREO_INVALID_MODEL;
  }
  p->tensors = static_cast<uint8_t*>(with->state) + tensors_in_state(*p->blob.header);
  if (VIREO_HAS(with, profile) && with->profile != 0) p->layers = reinterpret_cast<LayerCounters*>(p + 1);
  if (VIREO_HAS(with, priority))
    p->rank = with->priority == VIREO_PRIORITY_HIGH ? 2 : with->priority == VIREO_PRIORITY_LOW ? 0 : 1;
  d.device->load(p);
  *loaded = p;
  return VIREO_OK;
}

vireo_status submit(void* loaded, const vireo_tensor* const* inputs, uint32_t input_count, vireo_tensor* const* outputs,
                    uint32_t output_count, const vireo_submit* with) {
  auto* const p = static_cast<Part*>(loaded);
  const BlobHeader& h = *p->blob.header;
  const auto complain = [with](const char* text) {
    std::snprintf(with->fault->message, with->fault->message_bytes, "%s", text);
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
  if (status == VIREO_DEVICE_LOST)
    std::snprintf(with->fault->message, with->fault->message_bytes, "the device is lost");
  return status;
}

vireo_status wait(void* loaded, uint64_t timeout_ns) {
  auto* const p = static_cast<Part*>(loaded);
  return p->device->wait(p, timeout_ns);
}
// Layers have no begin of their own: cascades work on several at once. Each takes the cycles in which its command was
// the oldest at work, and they add up to the whole.
vireo_status timeline(void* loaded, void* context, void (*take)(void* context, const vireo_timeline_entry* entry)) {
  const auto* const p = static_cast<const Part*>(loaded);
  if (p->layers == nullptr) return VIREO_UNSUPPORTED;
  uint64_t cycles = 0;
  const uint64_t mhz = p->device->config().clock_mhz;
  for (uint32_t k = 0; k < p->blob.header->layers; ++k) {
    vireo_timeline_entry entry = VIREO_TIMELINE_ENTRY_INIT;
    entry.node = p->blob.nodes[k];
    entry.kernel = "layer";
    entry.begin_ns = cycles * 1000 / mhz;
    cycles += p->layers[k].cycles;
    entry.end_ns = cycles * 1000 / mhz;
    take(context, &entry);
  }
  return VIREO_OK;
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

// What the environment says of the machine, where there is one.
vireo_status configure(const vireo_host* host, MachineConfig* config, FaultPlan* plan) {
#if VIREO_NPU_THREAD
  if (const char* text = std::getenv("VIREO_NPU_SRAM"); text != nullptr) {
    char* end = nullptr;
    const long kib = std::strtol(text, &end, 10);
    config->sram_bytes = *end != 0 || kib < 0 || kib > 65536 ? 0 : static_cast<uint32_t>(kib) * 1024;
    if (!config_ok(*config)) {
      host->log(host->context, VIREO_LOG_ERROR, "VIREO_NPU_SRAM: wanted KiB of local memory, 1 to 65536");
      return VIREO_INVALID_ARGUMENT;
    }
  }
  if (const char* text = std::getenv("VIREO_NPU_FAULT"); text != nullptr && !plan->read(text)) {
    host->log(
        host->context, VIREO_LOG_ERROR,
        "VIREO_NPU_FAULT: wanted hang@N, corrupt@N, lost@N, memory@N, wrong, random=SEED:PERCENT, with commas between");
    return VIREO_INVALID_ARGUMENT;
  }
#else
  (void)host, (void)config, (void)plan;
#endif
  return VIREO_OK;
}

// With config and sram set; on failure nothing is left to stop.
vireo_status start(Driver* d, const vireo_host* host, const FaultPlan& plan) {
#if VIREO_NPU_THREAD
  if (const char* text = std::getenv("VIREO_NPU_CASCADES"); text != nullptr) d->options.cascade = text[0] != '0';
  if (const char* path = std::getenv("VIREO_NPU_REPORT"); path != nullptr && !d->reports.open(path)) {
    host->log(host->context, VIREO_LOG_ERROR, "VIREO_NPU_REPORT names a file that cannot be written");
    return VIREO_INVALID_ARGUMENT;
  }
#endif
  std::memcpy(&d->host, host, std::min<size_t>(host->struct_size, sizeof(d->host)));  // an older header's is shorter
  std::snprintf(d->detail, sizeof(d->detail), "%u x %u products a cycle, %u MHz, %u KiB local, in software",
                d->config.array_out, d->config.array_in, d->config.clock_mhz, d->config.sram_bytes / 1024);
  d->device = new Device(d->config, d->sram, plan);
  return VIREO_OK;
}

void release(void* self) {
  auto* const d = static_cast<Driver*>(self);
  const vireo_host host = d->host;
  const size_t sram_bytes = Machine::memory_bytes(d->config);
  if (!d->device->inherited()) delete d->device;
  host.release(host.context, d->sram, sram_bytes, 64);
  d->~Driver();
  host.release(host.context, d, sizeof(Driver), 64);
}

// ---- Linked in: one device for all runtimes of the process, whose memory is the image's own.

#if VIREO_NPU_THREAD
std::mutex g_guard;
#endif
uint32_t g_users = 0;
alignas(Driver) uint8_t g_driver[sizeof(Driver)];
alignas(64) uint8_t g_sram[Machine::memory_bytes(MachineConfig())];

vireo_status enumerate_linked(void*, const vireo_host* host, uint32_t index, vireo_device_info* info, void** device) {
  if (index != 0) return VIREO_INVALID_ARGUMENT;
#if VIREO_NPU_THREAD
  const std::lock_guard<std::mutex> lock(g_guard);
#endif
  auto* const d = reinterpret_cast<Driver*>(g_driver);
  if (g_users == 0) {
    new (g_driver) Driver();
    FaultPlan plan;
    vireo_status status = configure(host, &d->config, &plan);
    d->sram = g_sram;
    if (status == VIREO_OK && Machine::memory_bytes(d->config) > sizeof(g_sram)) {
      host->log(host->context, VIREO_LOG_ERROR, "VIREO_NPU_SRAM: the device that is linked in has no more than it has");
      status = VIREO_INVALID_ARGUMENT;
    }
    if (status == VIREO_OK) status = guarded([&] { return start(d, host, plan); });
    if (status != VIREO_OK) {
      d->~Driver();
      return status;
    }
  }
  ++g_users;
  return enumerate(d, host, index, info, device);
}

void release_linked(void*) {
#if VIREO_NPU_THREAD
  const std::lock_guard<std::mutex> lock(g_guard);
#endif
  auto* const d = reinterpret_cast<Driver*>(g_driver);
  if (g_users == 0 || --g_users != 0) return;
  if (!d->device->inherited()) delete d->device;
  d->~Driver();
}

// Members that are not named here are NULL.
constexpr vireo_delegate plugin_table() {
  vireo_delegate t = {};
  t.struct_size = sizeof(vireo_delegate);
  t.abi = VIREO_DELEGATE_ABI;
  t.name = "npu";
  t.enumerate = enumerate;
  t.claim = claim;
  t.memory = memory_of;
  t.load = load;
  t.submit = submit;
  t.unload = unload;
  t.health = health;
  t.release = release;
  t.compile = compile_part;
  t.wait = wait;
  t.cancel = cancel;
  t.timeline = timeline;
  t.reset = reset;
  t.telemetry = telemetry;
  return t;
}

// Constant from the start: nothing has to run before the runtime reads it.
constexpr vireo_delegate linked_table() {
  vireo_delegate t = plugin_table();
  t.enumerate = enumerate_linked;
  t.release = release_linked;
  return t;
}

}  // namespace
}  // namespace vireo::npu

extern "C" vireo_status vireo_npu_open(uint32_t abi, const vireo_host* host, const vireo_delegate** out) {
  using namespace vireo::npu;
  if (host == nullptr || out == nullptr) return VIREO_INVALID_ARGUMENT;
  *out = nullptr;
  if (abi != VIREO_DELEGATE_ABI || !VIREO_HAS(host, release)) return VIREO_UNSUPPORTED;
  FaultPlan plan;
  MachineConfig config;
  if (const vireo_status status = configure(host, &config, &plan); status != VIREO_OK) return status;
  MemoryKind kind = MemoryKind::kHosts;
#if VIREO_NPU_THREAD
  if (const char* text = std::getenv("VIREO_NPU_MEMORY"); text != nullptr && !memory_kind(text, &kind)) {
    host->log(host->context, VIREO_LOG_ERROR, "VIREO_NPU_MEMORY: wanted host, own or import");
    return VIREO_INVALID_ARGUMENT;
  }
#endif
  void* const memory = host->allocate(host->context, sizeof(Driver), 64);
  if (memory == nullptr) return VIREO_OUT_OF_ARENA;
  auto* const d = new (memory) Driver();
  d->config = config;
  const size_t sram_bytes = Machine::memory_bytes(config);
  d->sram = static_cast<uint8_t*>(host->allocate(host->context, sram_bytes, 64));
  const vireo_status status =
      d->sram == nullptr ? vireo_status{VIREO_OUT_OF_ARENA} : guarded([&] { return start(d, host, plan); });
  if (status != VIREO_OK) {
    if (d->sram != nullptr) host->release(host->context, d->sram, sram_bytes, 64);
    d->~Driver();
    host->release(host->context, memory, sizeof(Driver), 64);
    return status;
  }
  d->memory = kind;
  d->table = plugin_table();
#if VIREO_NPU_THREAD
  if (kind != MemoryKind::kHosts) add_memory(&d->table);
#endif
  d->table.self = d;
  *out = &d->table;
  return VIREO_OK;
}

extern "C" const vireo_delegate vireo_npu_delegate;
constexpr vireo_delegate vireo_npu_delegate = vireo::npu::linked_table();
