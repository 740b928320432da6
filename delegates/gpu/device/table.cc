#include "delegates/gpu/device/table.h"

#include <cstring>
#include <new>
#include <utility>

#include "delegates/gpu/device/buffers.h"
#include "delegates/gpu/device/compile.h"
#include "delegates/gpu/device/gpu.h"
#include "delegates/gpu/device/kernels.h"
#include "delegates/gpu/device/part.h"
#include "delegates/gpu/device/source.h"
#include "delegates/gpu/lower/lower.h"
#include "sdk/graph/graph_reader.h"

namespace vireo::gpu {
namespace {

// Drivers of cards are wrong now and then: 66 runs find a fault in one run of ten with a probability of .999.
constexpr uint32_t kTrialRuns = 66;

struct Driver {
  vireo_delegate table = {};
  vireo_host host = {};
  std::unique_ptr<System> system;
  std::vector<std::unique_ptr<Gpu>> gpus;
};

vireo_status enumerate(void* self, const vireo_host*, uint32_t index, vireo_device_info* info, void** device) {
  const auto& d = *static_cast<Driver*>(self);
  if (index >= d.gpus.size()) return VIREO_INVALID_ARGUMENT;
  const Gpu& gpu = *d.gpus[index];
  const Facts& card = gpu.facts();
  info->name = gpu.name().c_str();
  info->detail = card.detail.c_str();
  if (!card.vendor.empty()) info->vendor = card.vendor.c_str();
  info->driver = card.driver.c_str();
  if (card.emulated) {
    info->flags |= VIREO_DEVICE_EMULATED;
  } else {
    info->trial_runs = kTrialRuns;
  }
  if (card.unified) info->flags |= VIREO_DEVICE_UNIFIED;
  info->types = uint64_t{1} << VIREO_FLOAT32;
  info->memory_bytes = card.memory_bytes;
  info->launch_ns = card.launch_ns;
  if (!card.unified) info->transfer = card.transfer;
  if (VIREO_HAS(info, max_buffer_bytes)) info->max_buffer_bytes = card.max_buffer_bytes;
  *device = d.gpus[index].get();
  return VIREO_OK;
}

std::vector<const char*> names_of(const vireo_host& host, const vireo_graph* graph, const vireo_part& part) {
  std::vector<const char*> names;
  const GraphReader reader(host, graph);
  for (uint32_t k = 0; k < part.node_count; ++k) names.push_back(reader.node(part.nodes[k]).name);
  return names;
}

// Whether the part's bytes are those that compile() gives. A file may bring others; where a card does not keep kernels
// inside their bindings, those are not run. Making them once more takes some milliseconds.
bool is_ours(Gpu* gpu, const vireo_host& host, const vireo_graph* graph, const vireo_part& part,
             const vireo_load_request& with) {
  Schedule made;
  const vireo_math math = math_of(&part);
  if (!lower_part(gpu->target(math), host, graph, part, &made, &gpu->made(math)).why.empty()) return false;
  const std::vector<uint8_t> bytes = write_schedule(made);
  return bytes.size() == with.blob_bytes && std::memcmp(bytes.data(), with.blob, bytes.size()) == 0;
}

constexpr char kCode[] = "kernels";

// Before the first part is loaded, kernels that another process has had compiled.
void take_code(Device& device, const vireo_cache& cache) {
  if (device.took_code.exchange(true)) return;
  size_t bytes = 0;
  const void* const code = cache.get(cache.context, kCode, &bytes);
  if (code != nullptr) device.take_code(code, bytes);
}
void keep_code(Device& device, const vireo_cache& cache) {
  const uint64_t compiled = device.compiled();
  if (device.kept_code.exchange(compiled) == compiled) return;
  const std::vector<uint8_t> code = device.code();
  if (!code.empty()) cache.put(cache.context, kCode, code.data(), code.size());
}

// The same of one part's kernels, where the device shares their code.
struct SharedCode {
  std::string key;
  KernelCode code;

  void take(const vireo_cache& cache, const std::vector<Kernel>& kernels) {
    key = code_key(kernels);
    size_t bytes = 0;
    const void* const found = cache.get(cache.context, key.c_str(), &bytes);
    code.take(found, bytes, kernels.size());
  }
  void keep(const vireo_cache& cache) const {
    if (!code.made) return;
    const std::vector<uint8_t> bytes = code.bytes();
    if (!bytes.empty()) cache.put(cache.context, key.c_str(), bytes.data(), bytes.size());
  }
};

vireo_status load(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* asked,
                  const vireo_load_request* with, void** loaded) {
  return guarded([&] {
    Gpu& gpu = gpu_of(device);
    Schedule schedule;
    const Target& target = gpu.target(math_of(asked));
    std::string why = read_schedule(with->blob, with->blob_bytes, target, &schedule);
    if (why.empty() && (schedule.inputs.size() != asked->input_count || schedule.outputs.size() != asked->output_count))
      why = "it is of another part";
    if (why.empty() && schedule.weights.size() != 0 && with->packed_at == nullptr) why = "its weights are missing";
    if (why.empty() && !gpu.facts().checks_access && graph != nullptr && !is_ours(&gpu, *host, graph, *asked, *with))
      why = "it is not what this version makes of its nodes, and this card does not check where kernels write";
    if (!why.empty()) {
      say(with->fault, "the compiled part is refused: " + why);
      return vireo_status{VIREO_INVALID_MODEL};
    }
    std::shared_ptr<Device> opened;
    vireo_status status = gpu.device(&opened, &why);
    if (status == VIREO_OK) {
      OwnPlaces own;
      for (size_t i = 0; i < schedule.weights.size(); ++i)
        own.weights.push_back(with->packed_at[i] == nullptr ? Place{} : place_at(*with->packed_at[i]));
      if (with->scratch_at != nullptr) own.inner = place_at(*with->scratch_at);
      if (with->state_at != nullptr) own.data = place_at(*with->state_at);
      std::unique_ptr<Source> source;
      if (schedule.open) source = make_source(target, *host, graph, *asked, &gpu.made(math_of(asked)));
      const vireo_cache* const cache = VIREO_HAS(with, cache) ? with->cache : nullptr;
      SharedCode shared;
      const bool shares = cache != nullptr && opened->shares_code();
      if (shares) shared.take(*cache, schedule.kernels);
      if (cache != nullptr && !shares) take_code(*opened, *cache);
      Device& on = *opened;
      auto* const part = new (with->state) Part(std::move(opened));
      if (VIREO_HAS(with, slice_ns))
        part->serve(with->priority, with->slice_ns, VIREO_HAS(with, profile) && with->profile != 0);
      if (shares) part->share(&shared.code);
      status = part->load(std::move(schedule), std::move(own), std::move(source), &why);
      if (status == VIREO_OK) {
        if (shares) shared.keep(*cache);
        if (cache != nullptr && !shares) keep_code(on, *cache);
        if (part->schedule().errors != 0) part->set_names(names_of(*host, graph, *asked));
        *loaded = part;
        return status;
      }
      part->~Part();
    }
    say(with->fault, why);
    return status;
  });
}

vireo_status bind(void* loaded, const vireo_place* const* inputs, const vireo_place* const* outputs) {
  return guarded([&] {
    auto& part = *static_cast<Part*>(loaded);
    std::vector<Place> places;
    for (size_t i = 0; i < part.schedule().inputs.size(); ++i) places.push_back(place_at(*inputs[i]));
    for (size_t o = 0; o < part.schedule().outputs.size(); ++o) places.push_back(place_at(*outputs[o]));
    return part.bind(places.data());
  });
}

// Where values lie was said in bind.
vireo_status submit(void* loaded, const vireo_tensor* const* inputs, uint32_t, vireo_tensor* const*, uint32_t,
                    const vireo_submit* with) {
  return guarded([&] {
    std::string why;
    const Run run = {VIREO_HAS(with, graph) ? with->graph : nullptr, inputs};
    auto& part = *static_cast<Part*>(loaded);
    const vireo_status status = part.submit(run, &why);
    part.fault = with->fault;
    if (why.empty() && status == VIREO_DEVICE_LOST) why = "the device is lost";
    if (why.empty() && status == VIREO_INVALID_ARGUMENT)
      why = "the part's values have no places in its buffers: bind comes first";
    if (why.empty() && status == VIREO_OUT_OF_ARENA) why = "the driver had no memory for the submit";
    if (status != VIREO_OK) say(with->fault, why);
    return status;
  });
}

vireo_status wait(void* loaded, uint64_t timeout_ns) {
  auto& part = *static_cast<Part*>(loaded);
  Part::Found found;
  const vireo_status status = part.wait(timeout_ns, &found);
  if (status != VIREO_INVALID_ARGUMENT || part.fault == nullptr) return status;
  const bool divides = found.what == RunError::kDivisor;
  say(part.fault, divides ? "an integer is divided by 0" : "an index or a length is outside of its axis");
  part.fault->node = found.node;
  return status;
}
vireo_status timeline(void* loaded, void* context, void (*take)(void* context, const vireo_timeline_entry* entry)) {
  return guarded([&] {
    const auto tell = [&](const Launch& step, const Kernel& kernel, const StepTime& time) {
      vireo_timeline_entry entry = VIREO_TIMELINE_ENTRY_INIT;
      entry.node = step.node;
      entry.kernel = kernel.name.c_str();
      entry.begin_ns = time.begin_ns;
      entry.end_ns = time.end_ns;
      take(context, &entry);
    };
    const bool known = static_cast<const Part*>(loaded)->timeline(tell);
    return known ? vireo_status{VIREO_OK} : vireo_status{VIREO_UNSUPPORTED};
  });
}
void cancel(void* loaded) { static_cast<Part*>(loaded)->cancel(); }
void unload(void* loaded) { static_cast<Part*>(loaded)->~Part(); }
vireo_status health(void* device) { return gpu_of(device).health(); }
vireo_status reset(void* device) { return gpu_of(device).reset(); }
vireo_status telemetry(void* device, vireo_telemetry* out) {
  gpu_of(device).telemetry(out);
  return VIREO_OK;
}

void release(void* self) {
  auto* const d = static_cast<Driver*>(self);
  const vireo_host host = d->host;
  d->gpus.clear();
  d->~Driver();
  host.release(host.context, d, sizeof(Driver), 64);
}

void fill(Driver* d, const char* name) {
  vireo_delegate& t = d->table;
  t = {};
  t.struct_size = sizeof(t);
  t.abi = VIREO_DELEGATE_ABI;
  t.name = name;
  t.self = d;
  t.enumerate = enumerate;
  t.load = load;
  t.bind = bind;
  t.submit = submit;
  t.wait = wait;
  t.cancel = cancel;
  t.unload = unload;
  t.health = health;
  t.reset = reset;
  t.telemetry = telemetry;
  t.timeline = timeline;
  t.release = release;
  add_compiler(&t);
  add_buffers(&t);
}

void start(Driver* d, const char* name) {
  for (size_t i = 0; i < d->system->count(); ++i) {
    System* const system = d->system.get();
    const auto open = [system, i](std::shared_ptr<Device>* out, std::string* why) { return system->open(i, out, why); };
    d->gpus.push_back(std::make_unique<Gpu>(i == 0 ? name : name + std::to_string(i), system->facts(i), open, d->host));
  }
}

}  // namespace

vireo_status open_table(const char* name, const Finder& find, uint32_t abi, const vireo_host* host,
                        const vireo_delegate** out) {
  if (host == nullptr || out == nullptr) return VIREO_INVALID_ARGUMENT;
  *out = nullptr;
  if (abi != VIREO_DELEGATE_ABI || !VIREO_HAS(host, release)) return VIREO_UNSUPPORTED;
  void* const memory = host->allocate(host->context, sizeof(Driver), 64);
  if (memory == nullptr) return VIREO_OUT_OF_ARENA;
  auto* const d = new (memory) Driver();
  d->host = *host;
  fill(d, name);
  const vireo_status status = guarded([&] {
    std::string why;
    d->system = find(&why);
    if (d->system == nullptr) {
      host->log(host->context, VIREO_LOG_ERROR, (std::string(name) + ": " + why).c_str());
    } else {
      start(d, name);
    }
    return vireo_status{VIREO_OK};
  });
  if (status != VIREO_OK) {
    release(d);
    return status;
  }
  *out = &d->table;
  return VIREO_OK;
}

}  // namespace vireo::gpu
