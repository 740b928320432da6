#include "runtime/exec/layout.h"

#include <string.h>

#include "sdk/ops/control/control.h"

namespace vireo {
namespace {

struct Workspace {
  PlanTensor* tensors = nullptr;
  PlanNode* nodes = nullptr;
  int32_t* live = nullptr;  // check_overlaps: tensors that are alive
  int32_t* last_use = nullptr;
  int32_t* content = nullptr;  // check_plan: the tensor whose bytes a view holds
  uint8_t* bytes = nullptr;    // plan_arena's own
  size_t byte_count = 0;
};

bool owns_bodies(const fb::Node& n) { return n.subgraphs() != nullptr && n.subgraphs()->size() != 0; }

// ---- Bounds

Status bind_bounds(Layout& l, const vireo_session_options* options, Error* error) {
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
      if (bound.min < l.exprs[i].lo || bound.max > l.exprs[i].hi) {
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

const char* first_open_symbol(const Layout& l) {
  for (uint32_t i = 0; i < l.program->expr_count(); ++i) {
    const fb::Expr& e = *l.program->model().exprs()->Get(i);
    if (e.kind() == fb::ExprKind::Symbol && !e.data_dependent() && l.exprs[i].open()) return text_of(e.name());
  }
  for (uint32_t i = 0; i < l.program->expr_count(); ++i) {
    if (l.exprs[i].open()) return text_of(l.program->model().exprs()->Get(i)->name());
  }
  return "?";
}

Status bind_types(Layout& l, uint32_t index, Error* error) {
  const fb::Subgraph& g = l.graph(index);
  SubLayout& s = l.subs[index];
  for (uint32_t t = 0; t < s.tensor_count; ++t) {
    const fb::Tensor& tensor = *g.tensors()->Get(t);
    TensorType type = type_of(tensor);
    for (int i = 0; i < type.shape.rank; ++i) {
      const Interval d = bound_of(type.shape[i], Span<const Interval>(l.exprs, l.program->expr_count()));
      if (d.open()) {
        return fail(error, Status::kInvalidArgument,
                    "dimension {} of tensor \"{}\" has no upper bound because \"{}\" has none: give it in the "
                    "session's bounds, or "
                    "convert with --shape",
                    i, text_of(tensor.name()), first_open_symbol(l));
      }
      type.shape[i] = d.hi < 0 ? 0 : d.hi;
    }
    if (tensor_bytes(type) < 0) {
      return fail(error, Status::kInvalidArgument, "tensor \"{}\" at its upper bound {} is larger than memory",
                  text_of(tensor.name()), type.shape);
    }
    s.max_types[t] = type;
  }
  return Status::kOk;
}

// ---- Devices

struct Claiming {
  Layout* layout;
  uint32_t subgraph;
  uint8_t device;
  const vireo_host* host;
  Error* error;
};

vireo_status take(void* context, const vireo_part* part) {
  auto& c = *static_cast<Claiming*>(context);
  SubLayout& s = c.layout->subs[c.subgraph];
  // The arena is planned node by node: a part of several nodes would need its inputs kept to its end.
  if (part->node_count != 1 || part->nodes[0] >= s.node_count) return VIREO_UNSUPPORTED;
  NodeChoice& n = s.nodes[part->nodes[0]];
  if (n.device != kNoDevice) return VIREO_OK;  // a device before this one has it
  const Device& d = c.layout->model->runtime->devices[c.device];
  vireo_part_memory memory = {sizeof(vireo_part_memory), 0, 0};
  const vireo_status status =
      d.delegate->memory(d.handle, c.host, &c.layout->graphs[c.subgraph], part, c.layout->slots, &memory);
  if (status != VIREO_OK) return status;
  n.device = c.device;
  n.kernel = part->kernel == nullptr ? "" : part->kernel;
  n.reason = part->reason == nullptr ? "" : part->reason;
  n.choice = part->choice;
  n.state_bytes = memory.state_bytes;
  if (memory.scratch_bytes > c.layout->scratch_bytes) c.layout->scratch_bytes = memory.scratch_bytes;
  return VIREO_OK;
}

vireo_status leave(void* context, uint32_t node, const char* reason) {
  auto& c = *static_cast<Claiming*>(context);
  SubLayout& s = c.layout->subs[c.subgraph];
  if (node >= s.node_count) return VIREO_INVALID_ARGUMENT;
  if (s.nodes[node].device == kNoDevice && reason != nullptr) s.nodes[node].reason = reason;
  return VIREO_OK;
}

bool device_allowed(const vireo_session_options* options, const Device& d) {
  return options == nullptr || options->device == nullptr || strcmp(options->device, "auto") == 0 ||
         strcmp(options->device, d.info.name) == 0;
}

Status claim(Layout& l, uint32_t index, const vireo_session_options* options, Error* error) {
  SubLayout& s = l.subs[index];
  for (uint32_t n = 0; n < s.node_count; ++n) s.nodes[n] = NodeChoice{};
  if (s.dead) return Status::kOk;
  vireo_runtime* rt = l.model->runtime;
  const vireo_host host = make_host(rt);
  for (uint32_t d = 0; d < rt->device_count; ++d) {
    if (!device_allowed(options, rt->devices[d])) continue;
    Claiming c{&l, index, static_cast<uint8_t>(d), &host, error};
    const vireo_claims claims = {&c, take, leave};
    const vireo_status status = rt->devices[d].delegate->claim(rt->devices[d].handle, &host, &l.graphs[index], &claims);
    if (status != VIREO_OK) {
      return fail(error, static_cast<Status>(status), "device \"{}\" failed to look at the graph",
                  rt->devices[d].info.name);
    }
  }
  const fb::Subgraph& g = l.graph(index);
  for (uint32_t n = 0; n < s.node_count; ++n) {
    const fb::Node& node = *g.nodes()->Get(n);
    const OpRow* row = find_op(static_cast<Op>(node.op()));
    const bool control = row != nullptr && (row->def->flags & OpDef::kControlFlow) != 0;
    const bool composite = static_cast<Op>(node.op()) == Op::kComposite;
    if (!control && s.nodes[n].device == kNoDevice) {
      if (error != nullptr && ok(error->status)) error->node = static_cast<int32_t>(n);
      return fail(error, Status::kUnsupported, "node \"{}\": no device of this build runs operator {} ({}): {}",
                  text_of(node.name()), row == nullptr ? "" : row->def->name, static_cast<int>(node.op()),
                  row == nullptr ? "build with its kernel in VIREO_KERNELS" : s.nodes[n].reason);
    }
    for (uint32_t b = 0; owns_bodies(node) && b < node.subgraphs()->size(); ++b) {
      SubLayout& body = l.subs[node.subgraphs()->Get(b)];
      body.owner = index;
      body.owner_node = n;
      body.inlined = composite && s.nodes[n].device == kNoDevice;
      body.dead = s.dead || (composite && s.nodes[n].device != kNoDevice);
    }
  }
  return Status::kOk;
}

// ---- Arena

bool binds_outputs(const Layout& l, uint32_t index) {
  if (index == 0) return false;
  const fb::Subgraph& owner = l.graph(l.subs[index].owner);
  return owner_binds_outputs(static_cast<Op>(owner.nodes()->Get(l.subs[index].owner_node)->op()));
}

Span<const int32_t> span_of(const flatbuffers::Vector<int32_t>& v) { return {v.data(), v.size()}; }

bool holds(const flatbuffers::Vector<int32_t>& v, int32_t t) {
  for (const int32_t i : v) {
    if (i == t) return true;
  }
  return false;
}

uint32_t operator_inplace(const fb::Subgraph& g, const fb::Node& node, uint32_t inplace) {
  return inplace_always(inplace, span_of(*node.inputs()), span_of(*node.outputs()),
                        [&g](int32_t t) { return type_of(*g.tensors()->Get(static_cast<uint32_t>(t))); });
}

// What composite_inplace() says of `node`, whose body is `body`.
uint32_t body_inplace(const fb::Subgraph& g, const fb::Node& node, const fb::Subgraph& body) {
  if (body.nodes()->size() == 0) return 0;
  const fb::Node& first = *body.nodes()->Get(0);
  const OpRow* row = find_op(static_cast<Op>(first.op()));
  if (row == nullptr) return 0;
  const auto read_later = [&body](int32_t t) {
    for (const uint32_t y : *body.outputs()) {
      if (y == static_cast<uint32_t>(t)) return true;
    }
    for (uint32_t n = 1; n < body.nodes()->size(); ++n) {
      if (holds(*body.nodes()->Get(n)->inputs(), t)) return true;
    }
    return false;
  };
  const Span<const uint32_t> inputs(body.inputs()->data(), body.inputs()->size());
  return operator_inplace(g, node,
                          composite_inplace(operator_inplace(body, first, row->def->inplace), span_of(*first.inputs()),
                                            inputs, read_later));
}

Status fill_plan(const Layout& l, uint32_t index, const Workspace& w, Error* error) {
  const fb::Subgraph& g = l.graph(index);
  const SubLayout& s = l.subs[index];
  const bool bound = binds_outputs(l, index);
  for (uint32_t t = 0; t < s.tensor_count; ++t) {
    w.tensors[t] = PlanTensor{};
    w.tensors[t].bytes = tensor_bytes(s.max_types[t]);
    if (g.tensors()->Get(t)->segment() >= 0) w.tensors[t].kind = PlanTensor::kConstant;
  }
  uint32_t k = 0;
  for (const uint32_t t : *g.outputs()) {
    if (w.tensors[t].kind == PlanTensor::kConstant) continue;
    w.tensors[t].output = true;
    if (bound) w.tensors[t].kind = PlanTensor::kBound;
  }
  for (const uint32_t t : *g.inputs()) {
    w.tensors[t].kind = index != 0                     ? PlanTensor::kBound
                        : state_of(*l.program, k) >= 0 ? PlanTensor::kState
                                                       : PlanTensor::kInput;
    ++k;
  }
  for (uint32_t n = 0; n < s.node_count; ++n) {
    const fb::Node& node = *g.nodes()->Get(n);
    PlanNode& out = w.nodes[n];
    out = PlanNode{};
    out.inputs = span_of(*node.inputs());
    out.outputs = span_of(*node.outputs());
    out.region_bytes = -1;
    if (const OpRow* row = find_op(static_cast<Op>(node.op()))) {
      out.inplace = operator_inplace(g, node, row->def->inplace);
      out.view = (row->def->flags & OpDef::kView) != 0;
    }
    if (static_cast<Op>(node.op()) == Op::kComposite && owns_bodies(node)) {
      out.inplace = body_inplace(g, node, l.graph(node.subgraphs()->Get(0)));
    }
    uint64_t region = 0;
    for (uint32_t b = 0; owns_bodies(node) && b < node.subgraphs()->size(); ++b) {
      const SubLayout& body = l.subs[node.subgraphs()->Get(b)];
      if (!body.dead && body.bytes > region) region = body.bytes;
      out.region_bytes = 0;
    }
    if (region > static_cast<uint64_t>(INT64_MAX))
      return fail(error, Status::kInvalidModel, "a body's region overflows");
    if (out.region_bytes == 0) out.region_bytes = static_cast<int64_t>(region);
  }
  return Status::kOk;
}

bool in_arena(const PlanTensor& t) { return t.kind != PlanTensor::kConstant && t.kind != PlanTensor::kBound; }

// May node `n` write `y` over `x`, where both lie at the same place? Yes when y holds the very bytes of x, or when the
// operator works in place on those bytes and nobody needs x afterwards.
bool may_share(const PlanNode& n, int32_t y, int32_t x, bool x_dies, const int32_t* content) {
  if (n.outputs.empty() || n.outputs[0] != y) return false;
  size_t readings = 0;
  bool shares = false;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (n.inputs[i] < 0 || content[n.inputs[i]] != content[x]) continue;
    ++readings;
    shares = shares || (n.view && i == 0) || (i < 32 && (n.inplace >> i & 1u) != 0 && x_dies);
  }
  return shares && (n.region_bytes < 0 || readings == 1);  // a body reads each of its inputs when it likes
}

// A plan from a file: everything inside the region, and no two tensors in one place at one time unless an operator
// allows it.
Status check_plan(const Layout& l, uint32_t index, const Workspace& w, Error* error) {
  const SubLayout& s = l.subs[index];
  const fb::Subgraph& g = l.graph(index);
  const auto bad = [&](uint32_t t, const char* what) {
    return fail(error, Status::kInvalidModel, "the plan of subgraph {} puts tensor \"{}\" {}", index,
                text_of(g.tensors()->Get(t)->name()), what);
  };
  const auto node_count = static_cast<int32_t>(s.node_count);
  for (uint32_t t = 0; t < s.tensor_count; ++t) {
    w.last_use[t] = w.tensors[t].output || w.tensors[t].kind == PlanTensor::kState ? node_count : -1;
    w.content[t] = static_cast<int32_t>(t);
    const uint64_t offset = s.offsets[t];
    if (!in_arena(w.tensors[t])) {
      if (offset != kNoOffset) return bad(t, "in the arena, where it does not belong");
      continue;
    }
    if (offset >= kFirstAlias) {
      const uint32_t k = offset == kNoOffset ? UINT32_MAX : alias_of(offset);
      if (k >= s.tensor_count || w.tensors[k].kind != PlanTensor::kBound || !w.tensors[k].output ||
          w.tensors[k].bytes < w.tensors[t].bytes) {
        return bad(t, "nowhere");
      }
      continue;
    }
    uint64_t end = 0;
    if (offset % kTensorAlignment != 0 || !checked_add(offset, static_cast<uint64_t>(w.tensors[t].bytes), &end) ||
        end > s.bytes) {
      return bad(t, "outside its region");
    }
  }
  for (int32_t n = 0; n < node_count; ++n) {
    for (const int32_t x : w.nodes[n].inputs) {
      if (x >= 0 && w.last_use[x] < n) w.last_use[x] = n;
    }
    for (const int32_t y : w.nodes[n].outputs) {
      if (y >= 0 && w.last_use[y] < n) w.last_use[y] = n;
    }
  }
  const auto overlap = [&](int32_t a, int32_t b) {
    const uint64_t oa = s.offsets[a], ob = s.offsets[b];
    if (oa >= kFirstAlias || ob >= kFirstAlias) return oa == ob && oa != kNoOffset;
    return oa < ob + static_cast<uint64_t>(w.tensors[b].bytes) && ob < oa + static_cast<uint64_t>(w.tensors[a].bytes);
  };
  size_t live = 0;
  for (uint32_t t = 0; t < s.tensor_count; ++t) {
    if (w.tensors[t].kind == PlanTensor::kInput || w.tensors[t].kind == PlanTensor::kState)
      w.live[live++] = static_cast<int32_t>(t);
  }
  for (size_t a = 0; a < live; ++a) {
    for (size_t b = 0; b < a; ++b) {
      if (overlap(w.live[a], w.live[b])) return bad(static_cast<uint32_t>(w.live[a]), "over another input");
    }
  }
  uint32_t region = 0;
  for (int32_t n = 0; n < node_count; ++n) {
    const PlanNode& node = w.nodes[n];
    size_t kept = 0;
    for (size_t k = 0; k < live; ++k) {
      if (w.last_use[w.live[k]] >= n) w.live[kept++] = w.live[k];
    }
    live = kept;
    for (const int32_t y : node.outputs) {
      if (y < 0 || (!in_arena(w.tensors[y]) && w.tensors[y].kind != PlanTensor::kBound)) continue;
      const bool bound = w.tensors[y].kind == PlanTensor::kBound;
      for (size_t k = 0; k < live; ++k) {
        const int32_t x = w.live[k];
        const bool clash = bound ? s.offsets[x] == output_alias(static_cast<uint32_t>(y)) : overlap(x, y);
        if (!clash) continue;
        const bool same = bound || s.offsets[x] == s.offsets[y];
        if (!same || w.tensors[x].kind == PlanTensor::kInput || !may_share(node, y, x, w.last_use[x] == n, w.content)) {
          return bad(static_cast<uint32_t>(y), "over another that is still needed");
        }
      }
      w.live[live++] = y;
    }
    if (node.view && !node.outputs.empty() && node.outputs[0] >= 0 && !node.inputs.empty() && node.inputs[0] >= 0) {
      w.content[node.outputs[0]] = w.content[node.inputs[0]];
    }
    if (node.region_bytes >= 0) {
      const uint64_t at = s.regions[region++];
      uint64_t end = 0;
      if (at % kTensorAlignment != 0 || !checked_add(at, static_cast<uint64_t>(node.region_bytes), &end) ||
          end > s.bytes) {
        return fail(error, Status::kInvalidModel, "the plan of subgraph {} puts a body outside its region", index);
      }
      for (size_t k = 0; k < live; ++k) {
        const int32_t x = w.live[k];
        if (s.offsets[x] >= kFirstAlias) continue;
        if (s.offsets[x] < end && at < s.offsets[x] + static_cast<uint64_t>(w.tensors[x].bytes)) {
          return bad(static_cast<uint32_t>(x), "over a body's memory");
        }
      }
    }
  }
  return Status::kOk;
}

// Bodies first: an owner needs to know how large they are.
Status place(Layout& l, uint32_t index, bool from_file, const Workspace& w, Error* error) {
  SubLayout& s = l.subs[index];
  if (s.dead) return Status::kOk;
  VIREO_TRY(fill_plan(l, index, w, error));
  uint32_t regions = 0;
  for (uint32_t n = 0; n < s.node_count; ++n) regions += w.nodes[n].region_bytes >= 0 ? 1 : 0;
  if (from_file) {
    const fb::SubgraphPlan& p = *l.program->plan(index);
    for (uint32_t t = 0; t < s.tensor_count; ++t) s.offsets[t] = p.offsets()->Get(t);
    for (uint32_t r = 0; r < regions; ++r) s.regions[r] = p.regions()->Get(r);
    s.bytes = p.bytes();
    s.lower_bound = p.lower_bound();
    if (s.bytes > static_cast<uint64_t>(INT64_MAX) - kTensorAlignment)
      return fail(error, Status::kInvalidModel, "the plan's size overflows");
    return check_plan(l, index, w, error);
  }
  PlanResult result;
  // Packing is quadratic: below some 2^20 steps, a millisecond, whatever the file says.
  const uint64_t items = uint64_t{s.tensor_count} + s.node_count + 1;
  const auto tries = static_cast<int64_t>(std::min<uint64_t>(200, (uint64_t{1} << 20) / (items * items)));
  VIREO_TRY(plan_arena_best(Span<const PlanTensor>(w.tensors, s.tensor_count),
                            Span<const PlanNode>(w.nodes, s.node_count), binds_outputs(l, index),
                            Span<uint8_t>(w.bytes, w.byte_count), Span<uint64_t>(s.offsets, s.tensor_count),
                            Span<uint64_t>(s.regions, regions), &result, error, tries));
  s.bytes = result.bytes;
  s.lower_bound = result.lower_bound;
  return Status::kOk;
}

void carve(Layout& l, Workspace& w, Carver& c) {
  const uint32_t subs = l.program->subgraph_count();
  l.exprs = c.array<Interval>(l.program->expr_count());
  l.subs = c.array<SubLayout>(subs);
  l.graphs = c.array<vireo_graph>(subs);
  uint32_t most_tensors = 0, most_nodes = 0;
  for (uint32_t i = 0; i < subs; ++i) {
    SubLayout s;
    s.tensor_count = l.graph(i).tensors()->size();
    s.node_count = l.graph(i).nodes()->size();
    s.max_types = c.array<TensorType>(s.tensor_count);
    s.offsets = c.array<uint64_t>(s.tensor_count);
    s.regions = c.array<uint64_t>(s.node_count);
    s.nodes = c.array<NodeChoice>(s.node_count);
    if (s.tensor_count > most_tensors) most_tensors = s.tensor_count;
    if (s.node_count > most_nodes) most_nodes = s.node_count;
    if (!c.counting()) {
      l.subs[i] = s;
      l.graphs[i] = {l.program, i, s.max_types, l.graphs};
    }
  }
  w.tensors = c.array<PlanTensor>(most_tensors);
  w.nodes = c.array<PlanNode>(most_nodes);
  w.live = c.array<int32_t>(most_tensors);
  w.last_use = c.array<int32_t>(most_tensors);
  w.content = c.array<int32_t>(most_tensors);
  w.byte_count = static_cast<size_t>(plan_workspace_bytes(most_tensors, most_nodes));
  w.bytes = static_cast<uint8_t*>(c.bytes(w.byte_count));
}

Status fill(Layout& l, const vireo_session_options* options, const Workspace& w, Error* error) {
  VIREO_TRY(bind_bounds(l, options, error));
  const uint32_t subs = l.program->subgraph_count();
  for (uint32_t i = 0; i < subs; ++i) VIREO_TRY(bind_types(l, i, error));
  for (uint32_t i = 0; i < subs; ++i) VIREO_TRY(claim(l, i, options, error));
  // The file's plan holds for the file's bounds; narrower ones deserve a smaller arena.
  const bool from_file = l.program->plan(0) != nullptr && (options == nullptr || options->bound_count == 0);
  for (uint32_t i = subs; i-- > 0;) VIREO_TRY(place(l, i, from_file, w, error));
  return Status::kOk;
}

}  // namespace

int32_t state_of(const Program& program, uint32_t input) {
  const auto* signatures = program.model().signatures();
  if (signatures == nullptr || signatures->size() == 0 || signatures->Get(0)->states() == nullptr) return -1;
  for (const fb::State* s : *signatures->Get(0)->states()) {
    if (s->input() == input) return static_cast<int32_t>(s->output());
  }
  return -1;
}

Status make_layout(const vireo_model* model, const vireo_session_options* options, Layout* out, Error* error) {
  if (options != nullptr && options->bound_count != 0 && options->bounds == nullptr) {
    return fail(error, Status::kInvalidArgument, "bound_count without bounds");
  }
  Layout l;
  l.model = model;
  l.program = &model->program;
  const vireo_runtime* rt = model->runtime;
  l.slots = rt->pool.run == nullptr ? 1 : rt->pool.slots;
  if (options != nullptr && options->threads > 0 && options->threads < l.slots) l.slots = options->threads;
  if (options != nullptr && options->device != nullptr && strcmp(options->device, "auto") != 0) {
    bool found = false;
    for (uint32_t d = 0; d < rt->device_count; ++d)
      found = found || strcmp(options->device, rt->devices[d].info.name) == 0;
    if (!found)
      return fail(error, Status::kUnsupported, "there is no device \"{}\" here: `vireo devices` lists them",
                  options->device);
  }
  Workspace w;
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

void free_layout(Layout* layout) {
  if (layout->block != nullptr) layout->model->runtime->release(layout->block, layout->block_bytes);
  layout->block = nullptr;
}

}  // namespace vireo
