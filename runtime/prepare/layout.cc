#include "runtime/prepare/layout.h"

#include <string.h>

#include "runtime/explain/explain.h"
#include "runtime/prepare/arena_plan.h"
#include "runtime/prepare/auto_place.h"
#include "runtime/prepare/branches.h"
#include "runtime/prepare/joined.h"
#include "runtime/prepare/node_key.h"
#include "runtime/prepare/target_plan.h"
#include "runtime/recover/device_memory.h"
#include "sdk/base/config.h"

namespace vireo {
namespace {

// ---- Bounds

// The first tensor that has the dimension; NULL where none has.
const char* first_with(const fb::Subgraph& g, uint32_t dimension) {
  for (const fb::Tensor* tensor : *g.tensors()) {
    const TensorType type = type_of(*tensor);
    for (int i = 0; i < type.shape.rank; ++i) {
      if (is_symbolic(type.shape[i]) && handle_id(type.shape[i]) == dimension) return text_of(tensor->name());
    }
  }
  return nullptr;
}

Status bind_bounds(SessionLayout& l, const vireo_session_options* options, Error* error) {
  const Program& p = *l.program;
  for (uint32_t i = 0; i < p.expr_count(); ++i) {
    const fb::Expr& e = *p.model().exprs()->Get(i);
    if (e.kind() == fb::ExprKind::Symbol) l.exprs[i] = {e.lo(), e.hi() < 0 ? INT64_MAX : e.hi()};
  }
  for (uint32_t b = 0; options != nullptr && b < options->bound_count; ++b) {
    const vireo_bound& bound = options->bounds[b];
    if (bound.name == nullptr || bound.min < 0 || bound.max < bound.min) {
      return fail(error, Status::kInvalidArgument, "bound {} needs a name and 0 <= min <= max", b);
    }
    bool found = false;
    for (uint32_t i = 0; i < p.expr_count(); ++i) {
      const fb::Expr& e = *p.model().exprs()->Get(i);
      if (e.kind() != fb::ExprKind::Symbol || e.data_dependent() || strcmp(text_of(e.name()), bound.name) != 0)
        continue;
      found = true;
      if (l.exprs[i].open() && bound.min < l.exprs[i].lo) {
        return fail(error, Status::kInvalidArgument,
                    "bound {}..{} of dimension \"{}\" is below {}, the least that the model was converted for",
                    bound.min, bound.max, bound.name, l.exprs[i].lo);
      }
      if (bound.min < l.exprs[i].lo || bound.max > l.exprs[i].hi) {
        blame_tensor(error, first_with(p.subgraph(0), i));
        return fail(error, Status::kInvalidArgument,
                    "bound {}..{} of dimension \"{}\" is outside the model's own {}..{}", bound.min, bound.max,
                    bound.name, l.exprs[i].lo, l.exprs[i].hi);
      }
      l.exprs[i] = {bound.min, bound.max};
    }
    if (!found) return fail(error, Status::kInvalidArgument, "the model has no symbolic dimension \"{}\"", bound.name);
  }
  p.bound_exprs(Span<Interval>(l.exprs, p.expr_count()));
  return Status::kOk;
}

const char* first_open_symbol(const SessionLayout& l) {
  for (uint32_t i = 0; i < l.program->expr_count(); ++i) {
    const fb::Expr& e = *l.program->model().exprs()->Get(i);
    if (e.kind() == fb::ExprKind::Symbol && !e.data_dependent() && l.exprs[i].open()) return text_of(e.name());
  }
  for (uint32_t i = 0; i < l.program->expr_count(); ++i) {
    if (l.exprs[i].open()) return text_of(l.program->model().exprs()->Get(i)->name());
  }
  return "?";
}

Status bind_types(SessionLayout& l, uint32_t index, Error* error) {
  const fb::Subgraph& g = l.graph(index);
  SubLayout& s = l.subs[index];
  for (uint32_t t = 0; t < s.tensor_count; ++t) {
    const fb::Tensor& tensor = *g.tensors()->Get(t);
    TensorType type = type_of(tensor);
    for (int i = 0; i < type.shape.rank; ++i) {
      const Interval d = bound_of(type.shape[i], Span<const Interval>(l.exprs, l.program->expr_count()));
      if (d.open()) {
        blame_tensor(error, text_of(tensor.name()));
        return fail(error, Status::kInvalidArgument,
                    "dimension {} of tensor \"{}\" has no upper bound because \"{}\" has none: give it in the "
                    "session's bounds, or "
                    "convert with --shape",
                    i, text_of(tensor.name()), first_open_symbol(l));
      }
      type.shape[i] = d.hi < 0 ? 0 : d.hi;
    }
    if (tensor_bytes(type) < 0) {
      blame_tensor(error, text_of(tensor.name()));
      return fail(error, Status::kInvalidArgument, "tensor \"{}\" at its upper bound {} is larger than memory",
                  text_of(tensor.name()), type.shape);
    }
    s.max_types[t] = type;
  }
  return Status::kOk;
}

// ---- Devices

struct Claiming {
  SessionLayout* layout;
  uint32_t subgraph;
  uint8_t device;
  bool second;  // the session would rather have another device: why that one left a node stays to be read
  const vireo_host* host;
  Error* error;
  const vireo_preference* preference;
  bool failover;
};

vireo_status leave(void* context, uint32_t node, const char* reason) {
  auto& c = *static_cast<Claiming*>(context);
  SubLayout& s = c.layout->subs[c.subgraph];
  if (node >= s.node_count) return VIREO_INVALID_ARGUMENT;
  if (s.nodes[node].device == kNoDevice && reason != nullptr) s.nodes[node].reason = reason;
  return VIREO_OK;
}

// What the part takes where its device runs it alone.
vireo_status fill_choice(const Claiming& c, const vireo_part& part, int32_t rank, NodeChoice& n) {
  const Device& d = c.layout->model->runtime->devices[c.device];
  vireo_part_memory memory = {sizeof(vireo_part_memory), 0, 0};
  const vireo_graph* graph = &c.layout->graphs[c.subgraph];
  vireo_part asked = part;
  const auto pack = d.delegate->pack;
  // For a joined part it is known only after its neighbours are placed: join_parts() asks.
  const bool joins = VIREO_JOINED && (part.flags & VIREO_PART_JOINS) != 0;
  asked.packs = VIREO_PACKS && c.layout->packs && pack != nullptr && !joins ? 1 : 0;
  asked.packed = nullptr;
  vireo_status status = VIREO_OK;
  if (!joins) status = d.delegate->memory(d.handle, c.host, graph, &asked, c.layout->slots, &memory);
  if (status != VIREO_OK) return status;
  vireo_packed packed = {};
  packed.struct_size = sizeof(packed);
  n.packed = 0;
  while (VIREO_PACKS && pack != nullptr && asked.packs != 0 && n.packed < VIREO_MAX_PACKED &&
         pack(d.handle, c.host, graph, &asked, n.packed, nullptr, &packed, nullptr) == VIREO_OK) {
    ++n.packed;
  }
  if (VIREO_BRANCHES) {
    vireo_part_memory alone = {sizeof(vireo_part_memory), 0, 0};
    const bool wanted = c.subgraph == 0 && part.cost_ns > 0 && c.layout->slots > 1 && !joins;
    const bool known = wanted && d.delegate->memory(d.handle, c.host, graph, &asked, 1, &alone) == VIREO_OK;
    n.cost_ns = known ? part.cost_ns : 0;
    n.lane_scratch_bytes = alone.scratch_bytes;
  }
  n.device = c.device;
  n.kernel = part.kernel == nullptr ? "" : part.kernel;
  if (!VIREO_DEVICE_LISTS || !c.second || n.reason[0] == 0) n.reason = part.reason == nullptr ? "" : part.reason;
  n.choice = part.choice;
  n.state_bytes = memory.state_bytes;
  n.scratch_bytes = memory.scratch_bytes;
  n.rank = rank;
  n.joins = joins;
  if (VIREO_JOINED) n.time_ns = part.time_ns;
  return VIREO_OK;
}

vireo_status take(void* context, const vireo_part* part) {
  auto& c = *static_cast<Claiming*>(context);
  SubLayout& s = c.layout->subs[c.subgraph];
  if (part->node_count != 1 || part->nodes[0] >= s.node_count) return VIREO_UNSUPPORTED;  // see VIREO_PART_JOINS
  NodeChoice& n = s.nodes[part->nodes[0]];
  int32_t rank = 0;
  if (VIREO_PREFERENCES && c.preference != nullptr) {
    if (n.key == 0) n.key = node_key(*c.host, &c.layout->graphs[c.subgraph], part->nodes[0]);
    const fb::Node& node = *c.layout->graph(c.subgraph).nodes()->Get(part->nodes[0]);
    const vireo_candidate candidate = {sizeof(vireo_candidate), n.key, text_of(node.name()),
                                       c.layout->model->runtime->devices[c.device].info.name,
                                       part->kernel == nullptr ? "" : part->kernel};
    rank = c.preference->rank(c.preference->context, &candidate);
  }
  bool wins = n.device == kNoDevice || rank > n.rank;  // else one before this has it
#if VIREO_JOINED
  const bool joins = (part->flags & VIREO_PART_JOINS) != 0;
  const uint8_t wanted = s.wanted[part->nodes[0]];
  if (wanted == c.device) wins = n.device != c.device || rank > n.rank;
  if (wanted == kGivenUp && joins)
    return leave(context, part->nodes[0], "its compiler says that it takes longer there");
  if (n.device != kNoDevice && n.device == wanted && wanted != c.device) wins = false;
  const Device& d = c.layout->model->runtime->devices[c.device];
  const char* const refused = joins ? refused_reason(*c.layout, d, c.subgraph, part->nodes[0]) : nullptr;
  if (refused != nullptr) return leave(context, part->nodes[0], refused);
  NodeChoice& second = s.seconds[part->nodes[0]];
  if (!wins && c.failover && n.joins && !joins && second.device == kNoDevice)
    return fill_choice(c, *part, rank, second);
  if (wins && c.failover && joins && n.device != kNoDevice && !n.joins) {
    second = n;
    n.reason = "";
  }
#endif
  return wins ? fill_choice(c, *part, rank, n) : vireo_status{VIREO_OK};
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

const char* devices_of(const vireo_session_options* options) {
  return options == nullptr || options->device == nullptr ? "auto" : options->device;
}

#if VIREO_JOINED
// A device that was lost gets a chance to come back when a session is made.
bool alive(const Device& device) {
  const vireo_delegate& d = *device.delegate;
  if (d.health(device.handle) == VIREO_OK) return true;
  return d.reset != nullptr && d.reset(device.handle) == VIREO_OK && d.health(device.handle) == VIREO_OK;
}
#endif

void forget_choices(SubLayout& s) {
  for (uint32_t n = 0; n < s.node_count; ++n) {
    s.nodes[n] = NodeChoice{};
    if (VIREO_JOINED) s.seconds[n] = NodeChoice{};
  }
}

// `later`: the session would rather have another one.
Status ask_device(SessionLayout& l, uint32_t index, uint32_t d, bool later, const vireo_host& host,
                  const vireo_session_options* options, Error* error) {
  const Device& device = l.model->runtime->devices[d];
#if VIREO_JOINED
  if (!alive(device)) {
    const SubLayout& s = l.subs[index];
    for (uint32_t n = 0; n < s.node_count; ++n) {
      if (s.nodes[n].device == kNoDevice) s.nodes[n].reason = "the device is lost";
    }
    return Status::kOk;
  }
#endif
  Claiming c{&l,
             index,
             static_cast<uint8_t>(d),
             later,
             &host,
             error,
             l.preference,
             VIREO_JOINED && (options == nullptr || options->failover != VIREO_FAILOVER_NEVER)};
  const vireo_claims claims = {&c, take, leave};
  const vireo_status status = device.delegate->claim(device.handle, &host, &l.graphs[index], &claims);
  return status == VIREO_OK ? Status::kOk
                            : fail(error, static_cast<Status>(status),
                                   "device \"{}\" failed to look at the graph: status {}", device.info.name, status);
}

// Asks every device that the session may use, those it would rather have first.
Status ask_devices(SessionLayout& l, uint32_t index, const vireo_host& host, const vireo_session_options* options,
                   Error* error) {
  const vireo_runtime* rt = l.model->runtime;
  for (const char* list = devices_of(options); list != nullptr; list = behind_comma(list)) {
    for (uint32_t d = 0; d < rt->device_count; ++d) {
      if (may_use(list, rt->devices[d]))
        VIREO_TRY(ask_device(l, index, d, list != devices_of(options), host, options, error));
    }
  }
#if VIREO_JOINED
  for (uint32_t d = 0; d < rt->device_count; ++d) {
    if (plan_has(l, d) && !session_may_use(options, rt->devices[d]))
      VIREO_TRY(ask_device(l, index, d, true, host, options, error));
  }
#endif
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

Status claim(SessionLayout& l, uint32_t index, const vireo_session_options* options, Error* error) {
  SubLayout& s = l.subs[index];
  forget_choices(s);
  if (s.dead) {  // inside a composite that a device runs whole, and so is what its nodes own
    for (uint32_t n = 0; n < s.node_count; ++n) own_bodies(l, index, n, /*inlined=*/false, /*dead=*/true);
    return Status::kOk;
  }
  const vireo_host& host = l.model->runtime->host;
#if VIREO_JOINED
  const bool by_cost = places_by_cost(l, options);
  memset(s.wanted, kNoDevice, s.node_count);
  // Each round a node more is refused for good, or given up, so it ends.
  for (bool again = true, place = by_cost; again;) {
    if (place) VIREO_TRY(place_by_cost(l, index, host, options, error));
    follow_plan(l, index);
    forget_choices(s);
    VIREO_TRY(ask_devices(l, index, host, options, error));
    VIREO_TRY(join_parts(l, index, host, &again, error));
    place = by_cost && again;
    if (again || !by_cost || l.plan != nullptr || !give_up_slow_parts(l, index)) continue;
    free_parts(l, index);
    again = true;
  }
  tell_plan(l, index);
#else
  VIREO_TRY(ask_devices(l, index, host, options, error));
#endif
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

// ---- Memory

void carve(SessionLayout& l, PlanWorkspace& w, Carver& c) {
  const uint32_t subs = l.program->subgraph_count();
  l.exprs = c.array<Interval>(l.program->expr_count());
  l.subs = c.array<SubLayout>(subs);
  l.graphs = c.array<vireo_graph>(subs);
  uint32_t most_tensors = 0, most_nodes = 0, most_parts = 0;
  for (uint32_t i = 0; i < subs; ++i) {
    SubLayout s;
    s.tensor_count = l.graph(i).tensors()->size();
    s.node_count = l.graph(i).nodes()->size();
    s.max_types = c.array<TensorType>(s.tensor_count);
    s.offsets = c.array<uint64_t>(s.tensor_count);
    s.regions = c.array<uint64_t>(s.node_count);
    s.nodes = c.array<NodeChoice>(s.node_count);
    if (VIREO_JOINED) {
      s.seconds = c.array<NodeChoice>(s.node_count);
      s.wanted = c.array<uint8_t>(s.node_count);
      s.otherwise_ns = c.array<double>(s.node_count);
    }
    if (s.tensor_count > most_tensors) most_tensors = s.tensor_count;
    if (s.node_count > most_nodes) most_nodes = s.node_count;
    uint32_t parts = 0;
    for (const fb::Node* n : *l.graph(i).nodes()) parts += part_count(*n);
    if (parts > most_parts) most_parts = parts;
    if (!c.counting()) {
      l.subs[i] = s;
      l.graphs[i] = {l.program, i, s.max_types, l.graphs};
    }
  }
  w.tensors = c.array<PlanTensor>(most_tensors);
  w.nodes = c.array<PlanNode>(most_nodes);
  w.live = c.array<int32_t>(most_tensors);
  w.last_use = c.array<int32_t>(most_tensors);
  w.at = c.array<int64_t>(most_parts);
  if (VIREO_BRANCHES) w.before = c.array<uint64_t>(most_tensors + most_nodes);
  w.byte_count = static_cast<size_t>(plan_workspace_bytes(most_tensors, most_nodes));
  w.bytes = static_cast<uint8_t*>(c.bytes(w.byte_count));
}

Status fill(SessionLayout& l, const vireo_session_options* options, const PlanWorkspace& w, Error* error) {
  VIREO_TRY(bind_bounds(l, options, error));
#if VIREO_JOINED
  VIREO_TRY(choose_plan(l, options, error));
#else
  if (options != nullptr && options->target != nullptr && options->target[0] != 0) {
    return fail(error, Status::kUnsupported,
                "target \"{}\": this build follows no plans, it was made without VIREO_JOINED", options->target);
  }
#endif
  const uint32_t subs = l.program->subgraph_count();
  for (uint32_t i = 0; i < subs; ++i) VIREO_TRY(bind_types(l, i, error));
  for (uint32_t i = 0; i < subs; ++i) VIREO_TRY(claim(l, i, options, error));
#if VIREO_JOINED
  VIREO_TRY(check_requirement(l, options == nullptr ? nullptr : options->require, error));
#endif
  // The file's plan holds for the file's bounds, node by node; narrower ones deserve a smaller arena, and a part needs
  // its inputs to its end.
  const bool from_file =
      l.program->plan(0) != nullptr && (options == nullptr || options->bound_count == 0) && l.parts == nullptr;
#if VIREO_JOINED
  const bool on_devices = uses_device_memory(l);
  l.begins_again = on_devices && (options == nullptr || options->failover != VIREO_FAILOVER_NEVER);
#endif
  for (uint32_t i = subs; i-- > 0;) VIREO_TRY(plan_subgraph(l, i, from_file, w, error));
#if VIREO_BRANCHES
  VIREO_TRY(plan_branches(l, w, error));
#endif
#if VIREO_JOINED
  if (on_devices) VIREO_TRY(plan_device_arenas(l, w, error));
#endif
  // Where pointers have 32 bits. Bodies lie inside.
  if (l.subs[0].bytes > SIZE_MAX / 2 || l.scratch_bytes > SIZE_MAX / 2)
    return fail(error, Status::kOutOfArena, "the model's values take {} bytes, more than this machine can address",
                l.subs[0].bytes);
  return Status::kOk;
}

}  // namespace

bool session_may_use(const vireo_session_options* options, const Device& device) {
  for (const char* list = devices_of(options); list != nullptr; list = behind_comma(list)) {
    if (may_use(list, device)) return true;
  }
  return false;
}

vireo_part part_of(const SessionLayout& l, uint32_t subgraph, const uint32_t* node, bool second) {
  const NodeChoice& choice = VIREO_JOINED && second ? l.subs[subgraph].seconds[*node] : l.subs[subgraph].nodes[*node];
  const bool packs = VIREO_PACKS && l.packs && l.model->runtime->devices[choice.device].delegate->pack != nullptr;
  vireo_part part = VIREO_PART_INIT;
  part.nodes = node;
  part.node_count = 1;
  part.kernel = choice.kernel;
  part.reason = choice.reason;
  part.choice = choice.choice;
  part.packs = packs ? 1 : 0;
#if VIREO_JOINED
  const JoinedPart* const joined = choice.part;
  const fb::Node& self = *l.graph(subgraph).nodes()->Get(*node);
  part.inputs = joined != nullptr ? joined->inputs : self.inputs()->data();
  part.input_count = joined != nullptr ? joined->input_count : self.inputs()->size();
  part.outputs = joined != nullptr ? joined->outputs : self.outputs()->data();
  part.output_count = joined != nullptr ? joined->output_count : self.outputs()->size();
  if (joined != nullptr) {
    part.nodes = joined->nodes;
    part.node_count = joined->count;
    part.flags = VIREO_PART_JOINS;
    if (joined->blob != nullptr) {
      part.blob = joined->blob->data;
      part.blob_bytes = joined->blob->bytes;
    }
  }
#endif
  return part;
}

Status packed_bytes(const SessionLayout& l, const vireo_host& host, size_t* held, size_t* mapped, Error* error) {
  *held = *mapped = 0;
  if (!VIREO_PACKS) return Status::kOk;
  const int rounds = VIREO_JOINED ? 2 : 1;  // nodes, and where they run when their device is lost
  const auto choices = [&l](uint32_t i, int round) { return round == 0 ? l.subs[i].nodes : l.subs[i].seconds; };
  size_t count = 0;
  for (uint32_t i = 0; i < l.program->subgraph_count(); ++i) {
    for (int r = 0; r < rounds; ++r) {
      for (uint32_t n = 0; !l.subs[i].dead && n < l.subs[i].node_count; ++n) count += choices(i, r)[n].packed;
    }
  }
  if (count == 0) return Status::kOk;
  size_t places = 2;  // of a table in which each is looked for by its constant
  while (places < 2 * count) places *= 2;
  const vireo_runtime* rt = l.model->runtime;
  const size_t table_bytes = places * sizeof(vireo_packed);
  auto* const table = static_cast<vireo_packed*>(rt->allocate(table_bytes));
  if (table == nullptr)
    return fail(error, Status::kOutOfArena, "the allocator has no {} bytes to plan the session", table_bytes);
  memset(static_cast<void*>(table), 0, table_bytes);
  Status status = Status::kOk;
  const auto look_up = [&](uint32_t i, uint32_t n, bool second) {
    const NodeChoice& choice = choices(i, second ? 1 : 0)[n];
    const vireo_part part = choice.packed == 0 ? vireo_part{} : part_of(l, i, &n, second);
    for (uint32_t k = 0; k < choice.packed && ok(status); ++k) {
      const Device& d = rt->devices[choice.device];
      vireo_packed what = {};
      what.struct_size = sizeof(what);
      status = static_cast<Status>(d.delegate->pack(d.handle, &host, &l.graphs[i], &part, k, nullptr, &what, nullptr));
      if (!ok(status)) break;
      size_t at = (reinterpret_cast<uintptr_t>(what.constant) / 8 * 0x9E3779B1u) & (places - 1);
      while (table[at].bytes != 0 && !same_pack(table[at], what)) at = (at + 1) & (places - 1);
      if (table[at].bytes == 0) {
        const bool lies_there = l.model->packs.find(d.delegate->name, what) == nullptr &&
                                find_mapped_pack(l.model, d.delegate->name, what) != nullptr;
        *(lies_there ? mapped : held) += lies_there ? what.bytes : Packs::bytes_of(what);
      }
      table[at] = what;
    }
  };
  for (uint32_t i = 0; i < l.program->subgraph_count() && ok(status); ++i) {
    for (int r = 0; r < rounds; ++r) {
      for (uint32_t n = 0; !l.subs[i].dead && n < l.subs[i].node_count && ok(status); ++n) look_up(i, n, r != 0);
    }
  }
  rt->release(table, table_bytes);
  return ok(status) ? status : fail(error, status, "a device could not say which weights it reads packed");
}

int32_t state_of(const Program& program, uint32_t input) {
  const auto* signatures = program.model().signatures();
  if (signatures == nullptr || signatures->size() == 0 || signatures->Get(0)->states() == nullptr) return -1;
  for (const fb::State* s : *signatures->Get(0)->states()) {
    if (s->input() == input) return static_cast<int32_t>(s->output());
  }
  return -1;
}

Status make_layout(const vireo_model* model, const vireo_session_options* options, SessionLayout* out, Error* error) {
  if (options != nullptr && options->bound_count != 0 && options->bounds == nullptr) {
    return fail(error, Status::kInvalidArgument, "bound_count without bounds");
  }
  SessionLayout l;
  l.model = model;
  l.program = &model->program;
  const vireo_runtime* rt = model->runtime;
  if (VIREO_PREFERENCES && options != nullptr) l.preference = options->preference;
  l.slots = rt->pool.run == nullptr ? 1 : rt->pool.slots;
  if (options != nullptr && options->threads > 0 && options->threads < l.slots) l.slots = options->threads;
  for (const char* list = devices_of(options); list != nullptr; list = behind_comma(list)) {
    bool found = says(list, "auto");
    for (uint32_t d = 0; d < rt->device_count; ++d) found = found || says(list, rt->devices[d].info.name);
    if (!found) {
      char name[64] = {};
      for (size_t i = 0; i + 1 < sizeof(name) && list[i] != 0 && (!VIREO_DEVICE_LISTS || list[i] != ','); ++i)
        name[i] = list[i];
      return fail(error, Status::kUnsupported, "there is no device \"{}\" here: `vireo devices` lists them",
                  VIREO_DEVICE_LISTS ? static_cast<const char*>(name) : list);
    }
  }
  const vireo_packing packing = options == nullptr ? vireo_packing{VIREO_PACKING_DEFAULT} : options->packing;
  l.packs = VIREO_PACKS &&
            (packing == VIREO_PACKING_ALWAYS || (packing == VIREO_PACKING_DEFAULT &&
                                                 (platform::kPacksByDefault || model->section.holds(kPackedConstant))));
  if (VIREO_CACHE && options != nullptr && options->cache != nullptr) model->cache.open(*model, options->cache);
  PlanWorkspace w;
  Carver counter;
  carve(l, w, counter);
  l.block_bytes = counter.used();
  l.block = rt->allocate(l.block_bytes);
  if (l.block == nullptr)
    return fail(error, Status::kOutOfArena, "the allocator has no {} bytes to plan the session", l.block_bytes);
  Carver carver(l.block);
  carve(l, w, carver);
  const Status status = fill(l, options, w, error);
  if (!ok(status)) {
    free_layout(&l);
    return status;
  }
  *out = l;
  return Status::kOk;
}

void free_layout(SessionLayout* layout) {
#if VIREO_JOINED
  for (uint32_t i = 0; i < layout->program->subgraph_count(); ++i) free_parts(*layout, i);
  free_device_arenas(*layout);
#endif
  if (layout->block != nullptr) layout->model->runtime->release(layout->block, layout->block_bytes);
  layout->block = nullptr;
}

}  // namespace vireo
