#include "runtime/prepare/claim.h"

#include <string.h>

#include "runtime/devices/claims.h"
#include "runtime/prepare/arena_plan.h"
#include "runtime/prepare/auto_place.h"
#include "runtime/prepare/joined.h"
#include "runtime/prepare/node_key.h"
#include "runtime/prepare/target_plan.h"
#include "sdk/base/config.h"

namespace vireo {
namespace {

struct Claiming {
  SessionLayout* layout;
  uint32_t subgraph;
  uint8_t device;
  bool second;  // the session would rather have another device: why that one left a node stays to be read
  const vireo_host* host;
  Error* error;
  const vireo_preference* preference;
  bool failover;
  bool profile;  // each node has a time of its own
};

// Why no device so far has the node; `reason` lives as long as the model.
void note(const Claiming& c, uint32_t node, const char* reason) {
  NodeChoice& n = c.layout->subs[c.subgraph].nodes[node];
  if (n.device == kNoDevice) n.reason = reason;
}

vireo_status leave(void* context, uint32_t node, const char* reason) {
  const auto& c = *static_cast<const Claiming*>(context);
  if (node >= c.layout->subs[c.subgraph].node_count) return VIREO_INVALID_ARGUMENT;
  const char* const kept = keep_text(*c.layout->model, reason);
  if (kept == nullptr) return VIREO_OUT_OF_ARENA;
  if (kept[0] != 0) note(c, node, kept);
  return VIREO_OK;
}

// The claim becomes the node's choice, or nothing changes.
vireo_status fill_choice(const Claiming& c, const vireo_claim& claim, int32_t rank, NodeChoice& n) {
  const vireo_model& model = *c.layout->model;
  const Device& d = model.runtime->devices[c.device];
  const vireo_graph* const graph = &c.layout->graphs[c.subgraph];
  const bool replaces = !VIREO_DEVICE_LISTS || !c.second || n.reason[0] == 0;
  const char* const reason = replaces ? keep_text(model, claim.reason) : n.reason;
  const void* claimed = claim.state;
  if (kKeepsStates && claim.state_bytes != 0)
    claimed = c.layout->subs[c.subgraph].states.add(model.runtime->allocator, claim.state, claim.state_bytes);
  if (reason == nullptr || (claimed == nullptr && claim.state_bytes != 0)) return VIREO_OUT_OF_ARENA;
  // What a joined part takes is known only after its neighbours are placed: join_parts() asks.
  const bool joins = VIREO_JOINED && (claim.flags & VIREO_CLAIM_JOINS) != 0;
  const vireo_part part = part_of(*c.layout, c.subgraph, &claim.node, &claimed);
  vireo_memory_request with = request_of(*c.layout, c.device, nullptr);
  vireo_part_memory memory = VIREO_PART_MEMORY_INIT, alone = VIREO_PART_MEMORY_INIT;
  if (!joins) {
    const vireo_status status = d.delegate->memory(d.handle, c.host, graph, &part, &with, &memory);
    if (status != VIREO_OK) return status;
  }
  n.packed = 0;
  vireo_packed packed = VIREO_PACKED_INIT;
  while (VIREO_PACKS && with.packs != 0 && !joins && n.packed < VIREO_MAX_PACKED &&
         d.delegate->pack(d.handle, c.host, graph, &part, n.packed, nullptr, &packed, nullptr) == VIREO_OK) {
    ++n.packed;
  }
  if (VIREO_BRANCHES) {
    with.slots = 1;
    const bool wanted = c.subgraph == 0 && claim.cost_ns > 0 && c.layout->slots > 1 && !joins;
    const bool known = wanted && d.delegate->memory(d.handle, c.host, graph, &part, &with, &alone) == VIREO_OK;
    n.cost_ns = known ? claim.cost_ns : 0;
    n.lane_scratch_bytes = alone.scratch_bytes;
  }
  n.device = c.device;
  n.kernel = claim.kernel == nullptr ? "" : claim.kernel;
  n.reason = reason;
  n.claimed = claimed;
  n.state_bytes = memory.state_bytes;
  n.scratch_bytes = memory.scratch_bytes;
  n.rank = rank;
  n.joins = joins;
  if (VIREO_JOINED) n.stays = joins && (claim.flags & VIREO_CLAIM_STAYS) != 0;
  if (VIREO_JOINED) n.time_ns = claim.time_ns;
  return VIREO_OK;
}

// Whether an offer of `device` with this rank beats the one that the node has:
//   the node is with   and its wish is     the offer
//   nobody             anything            wins
//   another device     this device         wins
//   another device     that device         loses
//   else                                   wins by a rank above
bool beats(const NodeChoice& now, uint8_t device, uint8_t wish, int32_t rank) {
  if (now.device == kNoDevice) return true;
  if (VIREO_JOINED && now.device != device) {
    if (wish == device) return true;
    if (wish == now.device) return false;
  }
  return rank > now.rank;
}

// Of a part that may join others: why it may not have the node all the same; null: it may.
const char* barred(const Claiming& c, uint32_t node) {
  if (c.layout->subs[c.subgraph].wanted[node] == kGivenUp) return "its compiler says that it takes longer there";
  return refused_reason(*c.layout, c.layout->model->runtime->devices[c.device], c.subgraph, node);
}

// The rank that the session's preference gives an offer; 0 where it has none.
int32_t rank_of(const Claiming& c, const vireo_claim& claim, NodeChoice& n) {
  if (!VIREO_PREFERENCES || c.preference == nullptr) return 0;
  if (n.key == 0) n.key = node_key(*c.host, &c.layout->graphs[c.subgraph], claim.node);
  const fb::Node& node = *c.layout->graph(c.subgraph).nodes()->Get(claim.node);
  const vireo_candidate candidate = {sizeof(vireo_candidate), n.key, text_of(node.name()),
                                     c.layout->model->runtime->devices[c.device].info.name,
                                     claim.kernel == nullptr ? "" : claim.kernel};
  return c.preference->rank(c.preference->context, &candidate);
}

// An offer that wins becomes the node's choice. Of a joined part and what runs the node by itself, both are kept: that
// is its second device, whichever came first.
vireo_status take(void* context, const vireo_claim* said) {
  const auto& c = *static_cast<const Claiming*>(context);
  SubLayout& s = c.layout->subs[c.subgraph];
  vireo_claim room;
  const vireo_claim* const known = read_claim(said, s.node_count, &room, c.error);
  if (known == nullptr) return VIREO_INVALID_ARGUMENT;
  const vireo_claim& claim = *known;
  NodeChoice& n = s.nodes[claim.node];
  const int32_t rank = rank_of(c, claim, n);
  if constexpr (!VIREO_JOINED) {
    return beats(n, c.device, kNoDevice, rank) ? fill_choice(c, claim, rank, n) : vireo_status{VIREO_OK};
  } else {
    const bool joins = (claim.flags & VIREO_CLAIM_JOINS) != 0, stays = (claim.flags & VIREO_CLAIM_STAYS) != 0;
    if (c.profile && stays) return VIREO_OK;  // the offers of the node by itself follow
    if (const char* const why = joins ? barred(c, claim.node) : nullptr; why != nullptr) {
      note(c, claim.node, why);
      return VIREO_OK;
    }
    NodeChoice& second = s.seconds[claim.node];
    if (!beats(n, c.device, s.wanted[claim.node], rank)) {
      const bool falls_back = c.failover && n.joins && !n.stays && !joins && second.device == kNoDevice;
      return falls_back ? fill_choice(c, claim, rank, second) : vireo_status{VIREO_OK};
    }
    if (c.failover && joins && !stays && n.device != kNoDevice && !n.joins) {
      second = n;
      n.reason = "";
    }
    return fill_choice(c, claim, rank, n);
  }
}

// Whether the list of names says this one first. Where there is one delegate, a list is a name.
bool says(const char* list, const char* name) {
  if (!VIREO_DEVICE_LISTS) return strcmp(list, name) == 0;
  const size_t n = strlen(name);
  return strncmp(list, name, n) == 0 && (list[n] == 0 || list[n] == ',');
}

// "auto" leaves out emulated devices: these are used only when they are named.
bool may_use(const char* list, const Device& device) {
  if (says(list, "auto")) return !VIREO_DEVICE_LISTS || (device.info.flags & VIREO_DEVICE_EMULATED) == 0;
  return says(list, device.info.name);
}

const char* behind_comma(const char* list) {
  const char* comma = VIREO_DEVICE_LISTS ? strchr(list, ',') : nullptr;
  return comma == nullptr ? nullptr : comma + 1;
}

// A device that was lost gets a chance to come back when a session is made.
bool alive(const Device& device) {
  const vireo_delegate& d = *device.delegate;
  if (d.health(device.handle) == VIREO_OK) return true;
  if (d.reset == nullptr || d.reset(device.handle) != VIREO_OK) return false;
  __atomic_fetch_add(&device.resets, 1u, __ATOMIC_ACQ_REL);
  return d.health(device.handle) == VIREO_OK;
}

void forget_choices(const SessionLayout& l, SubLayout& s) {
  if constexpr (kKeepsStates) s.states.release(l.model->runtime->allocator);
  for (uint32_t n = 0; n < s.node_count; ++n) {
    s.nodes[n] = NodeChoice{};
    if (VIREO_JOINED) s.seconds[n] = NodeChoice{};
  }
}

// `later`: the session would rather have another one.
Status ask_device(SessionLayout& l, uint32_t index, uint32_t d, bool later, const vireo_host& host,
                  const vireo_session_options& options, Error* error) {
  const Device& device = l.model->runtime->devices[d];
  if constexpr (VIREO_JOINED) {
    const SubLayout& s = l.subs[index];
    const bool lost = !alive(device);
    for (uint32_t n = 0; lost && n < s.node_count; ++n) {
      if (s.nodes[n].device == kNoDevice) s.nodes[n].reason = "the device is lost";
    }
    if (lost) return Status::kOk;
  }
  Claiming c{&l,
             index,
             static_cast<uint8_t>(d),
             later,
             &host,
             error,
             l.preference,
             VIREO_JOINED && options.failover != VIREO_FAILOVER_NEVER,
             options.profile != 0};
  return ask_claims(device, host, l.graphs[index], l.math, {&c, take, leave}, error);
}

// Asks every device that the session may use, those it would rather have first.
Status ask_devices(SessionLayout& l, uint32_t index, const vireo_host& host, const vireo_session_options& options,
                   Error* error) {
  const vireo_runtime* rt = l.model->runtime;
  for (const char* list = devices_of(options); list != nullptr; list = behind_comma(list)) {
    for (uint32_t d = 0; d < rt->device_count; ++d) {
      if (may_use(list, rt->devices[d]))
        VIREO_TRY(ask_device(l, index, d, list != devices_of(options), host, options, error));
    }
  }
  if constexpr (VIREO_JOINED) {
    for (uint32_t d = 0; d < rt->device_count; ++d) {
      if (plan_has(l, d) && !session_may_use(options, rt->devices[d]))
        VIREO_TRY(ask_device(l, index, d, true, host, options, error));
    }
  }
  return Status::kOk;
}

// What becomes of the bodies of node `n`: run step by step among the owner's, or not at all.
void own_bodies(SessionLayout& l, uint32_t index, uint32_t n, bool inlined, bool dead) {
  const fb::Node& node = *l.graph(index).nodes()->Get(n);
  for (uint32_t b = 0; owns_bodies(node) && b < node.subgraphs()->size(); ++b) {
    SubLayout& body = l.subs[node.subgraphs()->Get(b)];
    body.owner = index;
    body.owner_node = n;
    body.inlined = inlined;
    body.dead = dead;
  }
}

// Devices' offers, until they stand: each round a node more is refused for good, or given up, so it ends.
Status settle_nodes(SessionLayout& l, uint32_t index, const vireo_session_options& options, Error* error) {
  const vireo_host& host = l.model->runtime->host;
  if constexpr (!VIREO_JOINED) {
    return ask_devices(l, index, host, options, error);
  } else {
    SubLayout& s = l.subs[index];
    const bool by_cost = places_by_cost(l, options);
    memset(s.wanted, kNoDevice, s.node_count);
    bool place = by_cost;
    for (bool settled = false; !settled;) {
      if (place) VIREO_TRY(place_by_cost(l, index, host, options, error));
      follow_plan(l, index);
      forget_choices(l, s);
      VIREO_TRY(ask_devices(l, index, host, options, error));
      bool refused = false;
      VIREO_TRY(join_parts(l, index, host, &refused, error));
      place = by_cost && refused;
      settled = !refused;
      if (!settled || !by_cost || l.plan != nullptr || !give_up_slow_parts(l, index)) continue;
      free_parts(l, index);
      settled = false;
    }
    tell_plan(l, index);
    return Status::kOk;
  }
}

// What the nodes' choices mean for the session: scratch for the largest, a device for each, and what runs bodies.
Status adopt_choices(SessionLayout& l, uint32_t index, Error* error) {
  const SubLayout& s = l.subs[index];
  const fb::Subgraph& g = l.graph(index);
  for (uint32_t n = 0; n < s.node_count; ++n) {
    if (s.nodes[n].scratch_bytes > l.scratch_bytes) l.scratch_bytes = s.nodes[n].scratch_bytes;
    if (VIREO_JOINED && s.seconds[n].scratch_bytes > l.scratch_bytes) l.scratch_bytes = s.seconds[n].scratch_bytes;
    const fb::Node& node = *g.nodes()->Get(n);
    const OpRow* row = find_op(static_cast<Op>(node.op()));
    const bool control = row != nullptr && (row->def->flags & OpDef::kControlFlow) != 0;
    const bool composite = static_cast<Op>(node.op()) == Op::kComposite;
    if (!control && s.nodes[n].device == kNoDevice) {
      blame_node(error, text_of(node.name()));
      return fail(error, Status::kUnsupported, "node \"{}\": no device of this build runs operator {} ({}): {}",
                  text_of(node.name()), row == nullptr ? "" : row->def->name, static_cast<int>(node.op()),
                  row == nullptr ? "build with its kernel in VIREO_KERNELS" : s.nodes[n].reason);
    }
    const bool taken = s.nodes[n].device != kNoDevice;
    own_bodies(l, index, n, composite && !taken, composite && taken);
  }
  return Status::kOk;
}

}  // namespace

const char* devices_of(const vireo_session_options& options) {
  return options.device == nullptr ? "auto" : options.device;
}

Status claim_nodes(SessionLayout& l, uint32_t index, const vireo_session_options& options, Error* error) {
  SubLayout& s = l.subs[index];
  forget_choices(l, s);
  if (s.dead) {  // inside a composite that a device runs whole, and so is what its nodes own
    for (uint32_t n = 0; n < s.node_count; ++n) own_bodies(l, index, n, /*inlined=*/false, /*dead=*/true);
    return Status::kOk;
  }
  VIREO_TRY(settle_nodes(l, index, options, error));
  return adopt_choices(l, index, error);
}

bool session_may_use(const vireo_session_options& options, const Device& device) {
  for (const char* list = devices_of(options); list != nullptr; list = behind_comma(list)) {
    if (may_use(list, device)) return true;
  }
  return false;
}

Status check_devices(const vireo_runtime& rt, const vireo_session_options& options, Error* error) {
  for (const char* list = devices_of(options); list != nullptr; list = behind_comma(list)) {
    bool found = says(list, "auto");
    for (uint32_t d = 0; d < rt.device_count; ++d) found = found || says(list, rt.devices[d].info.name);
    if (!found) {
      char name[64] = {};
      for (size_t i = 0; i + 1 < sizeof(name) && list[i] != 0 && (!VIREO_DEVICE_LISTS || list[i] != ','); ++i)
        name[i] = list[i];
      return fail(error, Status::kUnsupported, "there is no device \"{}\" here: `vireo devices` lists them",
                  VIREO_DEVICE_LISTS ? static_cast<const char*>(name) : list);
    }
  }
  return Status::kOk;
}

}  // namespace vireo
