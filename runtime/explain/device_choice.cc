#include "runtime/explain/device_choice.h"

#include "runtime/create/create.h"
#include "runtime/explain/makers.h"
#include "runtime/prepare/auto_place.h"

#include <math.h>
#include <string.h>

#include "runtime/place/predict.h"
#include "runtime/place/work.h"
#include "runtime/prepare/joined.h"
#include "sdk/base/sized.h"

namespace vireo {
namespace {

// From the best to the weakest.
enum class Source : uint8_t { kCompiler, kMeasured, kDeclared, kAssumed };

const char* text(Source source) {
  switch (source) {
    case Source::kCompiler:
      return "compiler";
    case Source::kMeasured:
      return "measured";
    case Source::kDeclared:
      return "declared";
    default:
      return "assumed";
  }
}

// What one run takes of one device.
struct Expected {
  double ns = 0, joules = 0, cost = 0;
  bool joules_known = true;
  Source source = Source::kCompiler;
};

class Estimate {
 public:
  Estimate(const SessionLayout& l, const vireo_limits& limits) : l_(l), rt_(l.model->runtime), limits_(limits) {}
  ~Estimate() { rt_->release(makers_, maker_bytes_); }
  Estimate(const Estimate&) = delete;
  Estimate& operator=(const Estimate&) = delete;

  // `first`: the device whose nodes are counted.
  Status run(uint32_t first, vireo_device_choice* out, Error* error) {
    for (uint32_t i = 0; i < l_.program->subgraph_count(); ++i) {
      if (l_.subs[i].tensor_count > maker_bytes_) maker_bytes_ = l_.subs[i].tensor_count;
    }
    makers_ = static_cast<uint8_t*>(rt_->allocate(maker_bytes_));
    if (makers_ == nullptr)
      return fail(error, Status::kOutOfArena, "the allocator has no {} bytes to compare the devices", maker_bytes_);
    for (uint32_t i = 0; i < l_.program->subgraph_count(); ++i) {
      if (!l_.subs[i].dead) subgraph(i, first, out);
    }
    out->expected_ns = sum_.ns;
    out->energy_j = sum_.joules_known ? sum_.joules : 0;
    out->cost = sum_.cost;
    out->source = text(sum_.source);
    return Status::kOk;
  }

 private:
  void add(uint8_t device, double ns, double joules, Source source) {
    const vireo_device_info& info = rt_->devices[device].info;
    sum_.ns += ns;
    if (source > sum_.source) sum_.source = source;
    if (joules <= 0 && info.busy_watts <= 0) sum_.joules_known = false;
    sum_.joules += joules > 0 ? joules : 1e-9 * ns * info.busy_watts;
    if (limits_.prices != nullptr) sum_.cost += 1e-9 * ns * limits_.prices[device];
  }

  // Of values that another device made: to the host's memory, and from there.
  void add_moved(uint32_t sub, uint32_t n) {
    const SubLayout& s = l_.subs[sub];
    const fb::Subgraph& g = l_.graph(sub);
    const uint8_t here = s.nodes[n].device;
    const JoinedPart* const part = s.nodes[n].part;
    const auto& own = *g.nodes()->Get(n)->inputs();
    const Span<const int32_t> inputs = part != nullptr ? Span<const int32_t>(part->inputs, part->input_count)
                                                       : Span<const int32_t>(own.data(), own.size());
    for (const int32_t x : inputs) {
      if (x < 0 || g.tensors()->Get(static_cast<uint32_t>(x))->segment() >= 0) continue;
      const uint8_t maker = makers_[x];
      if (maker == here) continue;
      for (const uint8_t d : {maker, here}) {
        if (d == kNoDevice) continue;
        const DeviceSpeed speed = speed_of(d);
        if (speed.place.unified) continue;
        const auto bytes = static_cast<double>(tensor_bytes(s.max_types[x]));
        add(d, speed.place.transfer_ns + 1e9 * bytes / speed.place.transfer_rate, 0, source_of(d));
      }
    }
  }

  Source source_of(uint8_t device) const {
    if (speed_of(device).assumed_rate) return Source::kAssumed;
    const bool measured = (rt_->devices[device].info.flags & VIREO_DEVICE_MEASURED) != 0;
    return measured ? Source::kMeasured : Source::kDeclared;
  }

  DeviceSpeed speed_of(uint8_t device) const {
    const vireo_device_info& info = rt_->devices[device].info;
    return device_speed(info, (info.flags & VIREO_DEVICE_MEASURED) != 0);
  }

  void subgraph(uint32_t sub, uint32_t first, vireo_device_choice* out) {
    const SubLayout& s = l_.subs[sub];
    find_makers(l_, sub, makers_);
    for (uint32_t n = 0; n < s.node_count; ++n) {
      const NodeChoice& choice = s.nodes[n];
      if (choice.joined == 0) {  // of a part that was counted
        ++out->node_count;
        out->nodes_there += s.nodes[part_begin(s, n)].device == first ? 1 : 0;
        continue;
      }
      if (choice.device == kNoDevice) continue;  // control flow, and composites whose bodies are counted
      ++out->node_count;
      out->nodes_there += choice.device == first ? 1 : 0;
      add_moved(sub, n);
      const DeviceSpeed speed = speed_of(choice.device);
      const JoinedPart* const part = choice.part;
      if (part != nullptr && part->blob != nullptr && part->blob->head.time_ns > 0) {
        add(choice.device, part->blob->head.time_ns, 1e-9 * static_cast<double>(part->blob->head.energy_nj),
            Source::kCompiler);
        continue;
      }
      add(choice.device, speed.place.launch_ns, 0, Source::kCompiler);
      for (uint32_t k = 0; k < choice.joined; ++k) {
        const NodeChoice& one = s.nodes[n + k];
        const PredictedTime time = expected_time(l_, sub, n + k, rt_->devices[one.device], one.kernel, one.time_ns);
        add(one.device, time.ns, 0,
            time.source == TimeSource::kMeasured   ? Source::kMeasured
            : time.source == TimeSource::kDelegate ? Source::kDeclared
                                                   : source_of(one.device));
      }
    }
  }

  static uint32_t part_begin(const SubLayout& s, uint32_t n) {
    while (s.nodes[n].joined == 0) --n;
    return n;
  }

  const SessionLayout& l_;
  const vireo_runtime* rt_;
  const vireo_limits& limits_;
  uint8_t* makers_ = nullptr;  // of the subgraph in hand
  size_t maker_bytes_ = 1;
  Expected sum_;
};

template <size_t N>
void put(char (&to)[N], const char* from) {
  size_t n = strlen(from);
  if (n >= N) n = N - 1;
  memcpy(to, from, n);
  to[n] = 0;
}

// Position in the list of vendors; behind all of them where it is not in it.
uint32_t vendor_rank(const char* vendors, const char* vendor) {
  uint32_t rank = 0;
  const size_t size = vendor == nullptr ? 0 : strlen(vendor);
  for (const char* at = vendors; at != nullptr && at[0] != 0; ++rank) {
    const char* const end = strchr(at, ',');
    const size_t n = end == nullptr ? strlen(at) : static_cast<size_t>(end - at);
    if (size == n && n != 0 && memcmp(at, vendor, n) == 0) return rank;
    at = end == nullptr ? nullptr : end + 1;
  }
  return rank;
}

void check_limits(const vireo_limits& limits, vireo_device_choice* c) {
  Error why;
  const auto over = [&](const char* format, double is, double most) {
    if (c->reason[0] != 0) return;
    (void)fail(&why, Status::kUnsupported, format, static_cast<int64_t>(ceil(is)), static_cast<int64_t>(most));
    put(c->reason, why.message);
  };
  if (limits.memory_bytes != 0 && c->memory_bytes > limits.memory_bytes)
    over("it takes {} bytes, more than {}", static_cast<double>(c->memory_bytes),
         static_cast<double>(limits.memory_bytes));
  if (limits.latency_ns > 0 && c->expected_ns > limits.latency_ns)
    over("a run takes {} ns, more than {}", c->expected_ns, limits.latency_ns);
  if (limits.energy_j > 0 && c->energy_j <= 0 && c->reason[0] == 0)
    put(c->reason, "what energy a run takes is not known: the device does not say its watts");
  if (limits.energy_j > 0 && c->energy_j > limits.energy_j)
    over("a run takes {} nJ, more than {}", 1e9 * c->energy_j, 1e9 * limits.energy_j);
  if (limits.cost > 0 && c->cost > limits.cost)
    over("a run costs {} millionths, more than {}", 1e6 * c->cost, 1e6 * limits.cost);
  c->fits = c->reason[0] == 0 ? 1 : 0;
}

// One device, with the CPU behind it for what it does not run.
void judge(const vireo_model* model, const vireo_session_options& given, const vireo_limits& limits, uint32_t device,
           vireo_device_choice* out) {
  const vireo_runtime* rt = model->runtime;
  const char* const name = rt->devices[device].info.name;
  vireo_session_options options = given;
  options.device = out->devices;
  options.target = "";
  Error error;
  Status status = Status::kUnsupported;
  SessionLayout l;
  for (const char* behind : {"", ",cpu"}) {
    if (behind[0] != 0 && (strcmp(name, "cpu") == 0 || strlen(name) + strlen(behind) >= sizeof(out->devices))) break;
    put(out->devices, name);
    memcpy(out->devices + strlen(out->devices), behind, strlen(behind) + 1);
    error.clear();
    l = SessionLayout{};
    status = make_layout(model, options, &l, &error);
    if (status != Status::kUnsupported) break;
  }
  if (ok(status)) {
    status = Estimate(l, limits).run(device, out, &error);
    free_layout(&l);
    vireo_memory memory = VIREO_MEMORY_INIT;
    if (ok(status)) status = session_memory(model, options, &memory, &error);
    out->memory_bytes = memory.total_bytes + memory.packed_bytes + memory.compiled_bytes + memory.device_bytes +
                        memory.device_packed_bytes;
  }
  if (ok(status) && out->nodes_there == 0 && strcmp(out->devices, name) != 0) {
    put(out->reason, "it runs none of the model's nodes: `vireo explain` says why for each");
    return;
  }
  if (!ok(status)) {
    put(out->devices, name);
    put(out->reason, error.message);
    return;
  }
  check_limits(limits, out);
}

}  // namespace

Status rank_devices(const vireo_model* model, const vireo_session_options& given, const vireo_limits& limits,
                    vireo_device_choice* choices, uint32_t capacity, uint32_t* count, Error* error) {
  const vireo_runtime* rt = model->runtime;
  *count = 0;
  const size_t bytes = sizeof(vireo_device_choice) * kMaxDevices;
  auto* const all = static_cast<vireo_device_choice*>(rt->allocate(bytes));
  if (all == nullptr)
    return fail(error, Status::kOutOfArena, "the allocator has no {} bytes to compare the devices", bytes);
  uint32_t vendors[kMaxDevices] = {};
  for (uint32_t d = 0; d < rt->device_count; ++d) {
    const vireo_device_info& info = rt->devices[d].info;
    if ((info.flags & VIREO_DEVICE_EMULATED) != 0 && limits.emulated == 0) continue;
    vireo_device_choice made = {};
    made.struct_size = sizeof(made);
    made.source = text(Source::kAssumed);
    judge(model, given, limits, d, &made);
    // Into its place among those before it.
    const uint32_t vendor = vendor_rank(limits.vendors, info.vendor);
    uint32_t at = *count;
    const auto better = [&](const vireo_device_choice& other, uint32_t its_vendor) {
      if (made.fits != other.fits) return made.fits > other.fits;
      if (vendor != its_vendor) return vendor < its_vendor;
      return made.fits != 0 && made.expected_ns < other.expected_ns;
    };
    for (; at > 0 && better(all[at - 1], vendors[at - 1]); --at) {
      all[at] = all[at - 1];
      vendors[at] = vendors[at - 1];
    }
    all[at] = made;
    vendors[at] = vendor;
    ++*count;
  }
  for (uint32_t i = 0; choices != nullptr && i < *count && i < capacity; ++i)
    write_sized_at(&all[i], sizeof(all[i]), choices, i);
  rt->release(all, bytes);
  return Status::kOk;
}

}  // namespace vireo
