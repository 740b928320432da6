#include "runtime/prepare/layout.h"

#include <string.h>

#include "runtime/prepare/arena_plan.h"
#include "runtime/prepare/branches.h"
#include "runtime/prepare/claim.h"
#include "runtime/prepare/device_arenas.h"
#include "runtime/prepare/joined.h"
#include "runtime/prepare/requirement.h"
#include "runtime/prepare/target_plan.h"
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

Status bind_bounds(SessionLayout& l, const vireo_session_options& options, Error* error) {
  const Program& p = *l.program;
  for (uint32_t i = 0; i < p.expr_count(); ++i) {
    const fb::Expr& e = *p.model().exprs()->Get(i);
    if (e.kind() == fb::ExprKind::Symbol) l.exprs[i] = {e.lo(), e.hi() < 0 ? INT64_MAX : e.hi()};
  }
  for (uint32_t b = 0; b < options.bound_count; ++b) {
    const vireo_bound& bound = options.bounds[b];
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
        blame_tensor(error, first_with(p.subgraph(0), i));
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
    BoundType type{type_of(tensor)};
    for (int i = 0; i < type.shape.rank; ++i) {
      const Interval d = bound_of(type.shape[i], Span<const Interval>(l.exprs, l.program->expr_count()));
      if (d.open()) {
        blame_tensor(error, text_of(tensor.name()));
        return fail(error, Status::kInvalidArgument,
                    "dimension {} of tensor \"{}\" has no upper bound because \"{}\" has none: give it in the "
                    "session's bounds, or convert with --bound",
                    i, text_of(tensor.name()), first_open_symbol(l));
      }
      if (d.lo != d.hi) type.open |= 1u << i;
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
    s.max_types = c.array<BoundType>(s.tensor_count);
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
  if (VIREO_BRANCHES || VIREO_JOINED) w.before = c.array<uint64_t>(most_tensors + most_nodes);
  w.byte_count = static_cast<size_t>(plan_workspace_bytes(most_tensors, most_nodes));
  w.bytes = static_cast<uint8_t*>(c.bytes(w.byte_count));
}

// The plan of the file that places the nodes, where the options or the devices that are here ask for one.
Status choose_target(SessionLayout& l, const vireo_session_options& options, Error* error) {
  if constexpr (VIREO_JOINED) {
    return choose_plan(l, options, error);
  } else {
    if (options.target == nullptr || options.target[0] == 0) return Status::kOk;
    return fail(error, Status::kUnsupported,
                "target \"{}\": this build follows no plans, it was made without VIREO_JOINED", options.target);
  }
}

Status fill(SessionLayout& l, const vireo_session_options& options, const PlanWorkspace& w, Error* error) {
  VIREO_TRY(bind_bounds(l, options, error));
  VIREO_TRY(choose_target(l, options, error));
  const uint32_t subs = l.program->subgraph_count();
  for (uint32_t i = 0; i < subs; ++i) VIREO_TRY(bind_types(l, i, error));
  for (uint32_t i = 0; i < subs; ++i) VIREO_TRY(claim_nodes(l, i, options, error));
  if constexpr (VIREO_JOINED) VIREO_TRY(check_requirement(l, options.require, error));
  // The file's plan holds for the file's bounds, node by node; narrower ones deserve a smaller arena, and a part needs
  // its inputs to its end.
  const bool from_file = l.program->plan(0) != nullptr && options.bound_count == 0 && l.parts == nullptr;
  bool on_devices = false;
  if constexpr (VIREO_JOINED) {
    on_devices = uses_device_memory(l);
    l.begins_again = on_devices && options.failover != VIREO_FAILOVER_NEVER;
  }
  for (uint32_t i = subs; i-- > 0;) VIREO_TRY(plan_subgraph(l, i, from_file, w, error));
  if constexpr (VIREO_BRANCHES) VIREO_TRY(plan_branches(l, w, error));
  if constexpr (VIREO_JOINED) {
    if (on_devices) VIREO_TRY(plan_device_arenas(l, w, error));
  }
  // Where pointers have 32 bits. Bodies lie inside.
  if (l.subs[0].bytes > SIZE_MAX / 2 || l.scratch_bytes > SIZE_MAX / 2)
    return fail(error, Status::kOutOfArena, "the model's values take {} bytes, more than this machine can address",
                l.subs[0].bytes);
  return Status::kOk;
}

}  // namespace

vireo_part part_of(const SessionLayout& l, uint32_t subgraph, const uint32_t* node, const void* const* claimed,
                   const JoinedPart* joined) {
  vireo_part part = VIREO_PART_INIT;
  part.nodes = node;
  part.node_count = 1;
  part.claimed = claimed;
  if constexpr (kOnlyCpu) return part;
  part.math = l.math;
  const fb::Node& self = *l.graph(subgraph).nodes()->Get(*node);
  part.inputs = self.inputs()->data();
  part.input_count = self.inputs()->size();
  part.outputs = self.outputs()->data();
  part.output_count = self.outputs()->size();
  if (!VIREO_JOINED || joined == nullptr) return part;
  part.nodes = joined->nodes;
  part.node_count = joined->count;
  part.claimed = joined->claimed;
  part.inputs = joined->inputs;
  part.input_count = joined->input_count;
  part.outputs = joined->outputs;
  part.output_count = joined->output_count;
  return part;
}

vireo_memory_request request_of(const SessionLayout& l, uint32_t device, const JoinedPart* joined) {
  vireo_memory_request with = VIREO_MEMORY_REQUEST_INIT;
  with.slots = l.slots;
  with.packs = packs_for(l, device, joined) ? 1 : 0;
  if (!VIREO_JOINED || joined == nullptr || joined->blob == nullptr) return with;
  with.blob = joined->blob->data;
  with.blob_bytes = joined->blob->bytes;
  return with;
}

uint32_t first_tensor(const SessionLayout& l, uint32_t subgraph) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < subgraph; ++i) n += l.subs[i].tensor_count;
  return n;
}

int32_t state_of(const Program& program, uint32_t input) {
  const auto* signatures = program.model().signatures();
  if (signatures == nullptr || signatures->size() == 0 || signatures->Get(0)->states() == nullptr) return -1;
  for (const fb::State* s : *signatures->Get(0)->states()) {
    if (s->input() == input) return static_cast<int32_t>(s->output());
  }
  return -1;
}

Status make_layout(const vireo_model* model, const vireo_session_options& options, SessionLayout* out, Error* error) {
  if (options.bound_count != 0 && options.bounds == nullptr) {
    return fail(error, Status::kInvalidArgument, "bound_count without bounds");
  }
  SessionLayout l;
  l.model = model;
  l.program = &model->program;
  const vireo_runtime* rt = model->runtime;
  if (VIREO_PREFERENCES) l.preference = options.preference;
  if constexpr (!kOnlyCpu) {
    l.math = options.math;
    if (l.math > VIREO_MATH_F16)
      return fail(error, Status::kInvalidArgument, "math {} is none of VIREO_MATH_EXACT and VIREO_MATH_F16", l.math);
    if (options.priority > VIREO_PRIORITY_HIGH)
      return fail(error, Status::kInvalidArgument, "priority {} is none of VIREO_PRIORITY_NORMAL, _LOW and _HIGH",
                  options.priority);
  }
  l.slots = rt->pool.run == nullptr ? 1 : rt->pool.slots;
  if (options.threads > 0 && options.threads < l.slots) l.slots = options.threads;
  VIREO_TRY(check_devices(*rt, options, error));
  const vireo_packing packing = options.packing;
  l.packs = VIREO_PACKS &&
            (packing == VIREO_PACKING_ALWAYS || (packing == VIREO_PACKING_DEFAULT &&
                                                 (platform::kPacksByDefault || model->section.holds(kPackedConstant))));
  if (VIREO_CACHE && options.cache != nullptr) model->cache.open(*model, options.cache);
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
  for (uint32_t i = 0; kKeepsStates && layout->block != nullptr && i < layout->program->subgraph_count(); ++i)
    layout->subs[i].states.release(layout->model->runtime->allocator);
  if constexpr (VIREO_JOINED) {
    for (uint32_t i = 0; i < layout->program->subgraph_count(); ++i) free_parts(*layout, i);
    free_device_arenas(*layout);
  }
  if (layout->block != nullptr) layout->model->runtime->release(layout->block, layout->block_bytes);
  layout->block = nullptr;
}

}  // namespace vireo
