#include "runtime/prepare/auto_place.h"

#include <string.h>

#include <cmath>

#include "runtime/devices/claims.h"
#include "runtime/place/placement.h"
#include "runtime/place/predict.h"
#include "runtime/prepare/branches.h"
#include "runtime/prepare/claim.h"
#include "runtime/prepare/joined.h"
#include "runtime/prepare/node_key.h"
#include "sdk/base/config.h"

namespace vireo {
namespace {

struct Claim {
  double ns;           // < 0: it leaves the node; 0: it does not know
  const char* kernel;  // of the way that a session would take
  int32_t rank;
  bool joins;
};

// What one device says of the nodes.
struct Asking {
  Claim* row;
  uint32_t nodes;
  const SessionLayout* layout;
  uint32_t subgraph;
  const Device* device;
  Error* error;
};

vireo_candidate candidate_of(const SessionLayout& l, uint32_t subgraph, uint32_t node, const Device& device,
                             const char* kernel) {
  return {sizeof(vireo_candidate), node_key(l.model->runtime->host, &l.graphs[subgraph], node),
          text_of(l.graph(subgraph).nodes()->Get(node)->name()), device.info.name, kernel == nullptr ? "" : kernel};
}

vireo_status take(void* context, const vireo_claim* said) {
  const auto& asking = *static_cast<Asking*>(context);
  vireo_claim room;
  const vireo_claim* const known = read_claim(said, asking.nodes, &room, asking.error);
  if (known == nullptr) return VIREO_INVALID_ARGUMENT;
  const vireo_claim& way = *known;
  Claim& claim = asking.row[way.node];
  const vireo_preference* const preference = asking.layout->preference;
  int32_t rank = 0;
  if (preference != nullptr) {
    const vireo_candidate candidate =
        candidate_of(*asking.layout, asking.subgraph, way.node, *asking.device, way.kernel);
    rank = preference->rank(preference->context, &candidate);
  }
  if (claim.ns >= 0 && rank <= claim.rank) return VIREO_OK;  // the best way comes first
  claim.ns = way.time_ns > 0 ? way.time_ns : 0;
  claim.kernel = way.kernel;
  claim.rank = rank;
  claim.joins = (way.flags & (VIREO_CLAIM_JOINS | VIREO_CLAIM_STAYS)) == VIREO_CLAIM_JOINS;
  return VIREO_OK;
}
vireo_status leave(void*, uint32_t, const char*) { return VIREO_OK; }

double in_lanes(double ns, [[maybe_unused]] int32_t slots) {
#if VIREO_BRANCHES
  return spread_ns(ns, slots);
#else
  return ns;
#endif
}

// The arrays of one problem, in one block. The last device stands for the host itself: what no device takes (control
// flow, composites that run by their bodies) is there, and takes no time that could be had otherwise.
struct Arrays {
  uint8_t* index;  // of the runtime's devices, by the problem's
  Claim* claims;   // a row a device
  PlaceDevice* devices;
  double* times;  // a row a node
  PlaceNode* nodes;
  PlaceValue* values;
  int32_t* readers;
  int32_t* device_of;
  uint8_t* work;
};

Arrays carve(Carver& c, uint32_t devices, uint32_t nodes, uint32_t values, uint32_t readers, size_t work) {
  Arrays a;
  a.index = c.array<uint8_t>(devices);
  a.claims = c.array<Claim>(size_t{devices} * nodes);
  a.devices = c.array<PlaceDevice>(devices);
  a.times = c.array<double>(size_t{devices} * nodes);
  a.nodes = c.array<PlaceNode>(nodes);
  a.values = c.array<PlaceValue>(values);
  a.readers = c.array<int32_t>(readers);
  a.device_of = c.array<int32_t>(nodes);
  a.work = static_cast<uint8_t*>(c.bytes(work, 64));
  return a;
}

class Placer {
 public:
  Placer(SessionLayout& l, uint32_t sub, const vireo_host& host, const vireo_session_options& options, Error* error)
      : l_(l), sub_(sub), s_(l.subs[sub]), rt_(l.model->runtime), host_(host), options_(options), error_(error) {}
  ~Placer() { rt_->release(block_, bytes_); }
  Placer(const Placer&) = delete;
  Placer& operator=(const Placer&) = delete;

  Status run() {
    if (s_.node_count == 0) return Status::kOk;
    const fb::Subgraph& g = l_.graph(sub_);
    uint32_t readers = 0;
    for (const fb::Node* n : *g.nodes()) readers += n->inputs()->size();
    uint32_t devices = 1;
    for (uint32_t d = 0; d < rt_->device_count; ++d) devices += session_may_use(options_, rt_->devices[d]) ? 1 : 0;
    const auto work = static_cast<size_t>(placement_workspace_bytes(devices, s_.node_count, s_.tensor_count, readers));
    for (int round = 0; round < 2; ++round) {
      Carver c(block_);
      a_ = carve(c, devices, s_.node_count, s_.tensor_count, readers, work);
      if (round != 0) break;
      bytes_ = c.used();
      block_ = rt_->allocate(bytes_);
      if (block_ == nullptr)
        return fail(error_, Status::kOutOfArena, "the allocator has no {} bytes to place the nodes", bytes_);
    }
    devices_ = devices;
    VIREO_TRY(ask());
    fill_values();
    PlaceResult result;
    const PlaceProblem problem = {{a_.devices, devices_}, {a_.nodes, s_.node_count}, {a_.values, s_.tensor_count}};
    VIREO_TRY(place_nodes(problem, {a_.work, work}, {a_.device_of, s_.node_count}, &result, error_));
    for (uint32_t n = 0; n < s_.node_count; ++n) {
      const auto d = static_cast<uint32_t>(a_.device_of[n]);
      s_.wanted[n] = d + 1 == devices_ ? kNoDevice : a_.index[d];
      s_.otherwise_ns[n] = otherwise(n);
    }
    return Status::kOk;
  }

 private:
  // The least that the node takes where nothing is launched.
  double otherwise(uint32_t n) const {
    double least = INFINITY;
    for (uint32_t d = 0; d + 1 < devices_; ++d) {
      const double ns = a_.times[size_t{n} * devices_ + d];
      if (!a_.claims[size_t{d} * s_.node_count + n].joins && ns < least) least = ns;
    }
    return least;
  }

  Status ask() {
    uint32_t d = 0;
    for (uint32_t i = 0; i < rt_->device_count; ++i) {
      const Device& device = rt_->devices[i];
      if (!session_may_use(options_, device)) continue;
      a_.index[d] = static_cast<uint8_t>(i);
      Claim* const row = a_.claims + size_t{d} * s_.node_count;
      for (uint32_t n = 0; n < s_.node_count; ++n) row[n] = {-1, "", 0, false};
      Asking asking = {row, s_.node_count, &l_, sub_, &device, error_};
      if (device.delegate->health(device.handle) == VIREO_OK)
        VIREO_TRY(ask_claims(device, host_, l_.graphs[sub_], l_.math, {&asking, take, leave}, error_));
      const DeviceSpeed speed = device_speed(device.info, (device.info.flags & VIREO_DEVICE_MEASURED) != 0);
      a_.devices[d] = speed.place;
      for (uint32_t n = 0; n < s_.node_count; ++n) {
        double& ns = a_.times[size_t{n} * devices_ + d];
        if (row[n].ns < 0 || refused_reason(l_, device, sub_, n) != nullptr) {
          ns = INFINITY;
          continue;
        }
        const PredictedTime time = expected_time(l_, sub_, n, device, row[n].kernel, row[n].ns);
        ns = time.ns;
        if (!row[n].joins && time.source == TimeSource::kDelegate) ns = in_lanes(ns, l_.slots);
      }
      ++d;
    }
    a_.devices[d] = PlaceDevice{};
    a_.devices[d].unified = true;
    for (uint32_t n = 0; n < s_.node_count; ++n) {
      bool taken = false;
      uint32_t joins = 0;
      for (uint32_t k = 0; k < d; ++k) {
        taken = taken || a_.times[size_t{n} * devices_ + k] < INFINITY;
        if (a_.claims[size_t{k} * s_.node_count + n].joins && may_join(l_, sub_, n)) joins |= 1u << k;
      }
      a_.times[size_t{n} * devices_ + d] = taken ? INFINITY : 0;
      a_.nodes[n] = PlaceNode{};
      a_.nodes[n].time_ns = Span<const double>(a_.times + size_t{n} * devices_, devices_);
      a_.nodes[n].joins = joins;
    }
    return Status::kOk;
  }

  void fill_values() {
    const fb::Subgraph& g = l_.graph(sub_);
    for (uint32_t t = 0; t < s_.tensor_count; ++t) {
      a_.values[t] = PlaceValue{};
      const int64_t bytes = tensor_bytes(s_.max_types[t]);
      a_.values[t].bytes = bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
    }
    for (uint32_t n = 0; n < s_.node_count; ++n) {
      for (const int32_t y : *g.nodes()->Get(n)->outputs()) {
        if (y >= 0) a_.values[y].maker = static_cast<int32_t>(n);
      }
    }
    for (const uint32_t y : *g.outputs()) a_.values[y].to_host = true;
    // Readers value by value: counted, then filled in; constants have none.
    const auto reads = [&](auto&& visit) {
      for (uint32_t n = 0; n < s_.node_count; ++n) {
        for (const int32_t x : *g.nodes()->Get(n)->inputs()) {
          if (x >= 0 && g.tensors()->Get(static_cast<uint32_t>(x))->segment() < 0) visit(x, static_cast<int32_t>(n));
        }
      }
    };
    size_t next = 0;
    for (uint32_t t = 0; t < s_.tensor_count; ++t) s_.offsets[t] = 0;  // not planned yet: counts, then places
    reads([&](int32_t x, int32_t) { ++s_.offsets[x]; });
    for (uint32_t t = 0; t < s_.tensor_count; ++t) {
      const auto count = static_cast<size_t>(s_.offsets[t]);
      a_.values[t].readers = Span<const int32_t>(a_.readers + next, count);
      s_.offsets[t] = next;
      next += count;
    }
    reads([&](int32_t x, int32_t n) { a_.readers[s_.offsets[x]++] = n; });
  }

  SessionLayout& l_;
  uint32_t sub_;
  SubLayout& s_;
  const vireo_runtime* rt_;
  const vireo_host& host_;
  const vireo_session_options& options_;
  Error* error_;
  void* block_ = nullptr;
  size_t bytes_ = 0;
  uint32_t devices_ = 0;
  Arrays a_ = {};
};

}  // namespace

PredictedTime expected_time(const SessionLayout& l, uint32_t subgraph, uint32_t node, const Device& device,
                            const char* kernel, double claimed_ns) {
  const vireo_preference* const p = l.preference;
  double measured_ns = 0;
  if (p != nullptr && p->struct_size >= sizeof(*p) && p->time_ns != nullptr) {
    const vireo_candidate way = candidate_of(l, subgraph, node, device, kernel);
    measured_ns = p->time_ns(p->context, &way);
  }
  const DeviceSpeed speed = device_speed(device.info, (device.info.flags & VIREO_DEVICE_MEASURED) != 0);
  return node_time(speed, node_work(l.model->runtime->host, &l.graphs[subgraph], node), claimed_ns, measured_ns);
}

bool places_by_cost(const SessionLayout& l, const vireo_session_options& options) {
  const char* const list = devices_of(options);
  if (strncmp(list, "auto", 4) != 0 || (list[4] != 0 && list[4] != ',')) return false;
  const vireo_runtime* rt = l.model->runtime;
  for (uint32_t d = 0; d < rt->device_count; ++d) {
    if (rt->devices[d].delegate->compile != nullptr && session_may_use(options, rt->devices[d])) return true;
  }
  return false;
}

Status place_by_cost(SessionLayout& l, uint32_t subgraph, const vireo_host& host, const vireo_session_options& options,
                     Error* error) {
  return Placer(l, subgraph, host, options, error).run();
}

bool give_up_slow_parts(SessionLayout& l, uint32_t subgraph) {
  SubLayout& s = l.subs[subgraph];
  bool any = false;
  for (const JoinedPart* p = l.parts; p != nullptr; p = p->next) {
    if (p->subgraph != subgraph || p->blob == nullptr || !(p->blob->head.time_ns > 0)) continue;
    double otherwise = 0;
    for (uint32_t k = 0; k < p->count; ++k) otherwise += s.otherwise_ns[p->nodes[k]];
    if (p->blob->head.time_ns <= otherwise) continue;
    for (uint32_t k = 0; k < p->count; ++k) s.wanted[p->nodes[k]] = kGivenUp;
    any = true;
  }
  return any;
}

}  // namespace vireo
