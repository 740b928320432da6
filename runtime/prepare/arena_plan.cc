#include "runtime/prepare/arena_plan.h"

#include "runtime/prepare/device_arenas.h"
#include "runtime/prepare/joined.h"
#include "sdk/base/config.h"
#include "sdk/ops/control/control.h"
#include "sdk/ops/shared/parts.h"

namespace vireo {
namespace {

bool binds_outputs(const SessionLayout& l, uint32_t index) {
  if (index == 0) return false;
  const fb::Subgraph& owner = l.graph(l.subs[index].owner);
  return owner_binds_outputs(static_cast<Op>(owner.nodes()->Get(l.subs[index].owner_node)->op()));
}

// A node as part_offsets asks for it; a dimension that the session's bounds leave one value has that value.
class DeclaredNode final : public PartQuery {
 public:
  DeclaredNode(const SessionLayout& l, uint32_t index, const fb::Node& node) : l_(l), index_(index), node_(node) {}
  TensorType input(size_t i) const override { return type(*node_.inputs(), i); }
  TensorType output(size_t o) const override { return type(*node_.outputs(), o); }
  const void* constant(size_t i) const override {
    const int32_t t = i < node_.inputs()->size() ? node_.inputs()->Get(static_cast<uint32_t>(i)) : -1;
    return t < 0 ? nullptr : l_.program->constant(*l_.graph(index_).tensors()->Get(static_cast<uint32_t>(t)));
  }
  Span<const uint8_t> attr_bytes() const override { return {node_.attrs()->data(), node_.attrs()->size()}; }

 private:
  TensorType type(const flatbuffers::Vector<int32_t>& list, size_t i) const {
    const int32_t t = i < list.size() ? list.Get(static_cast<uint32_t>(i)) : -1;
    if (t < 0) return {};
    TensorType out = type_of(*l_.graph(index_).tensors()->Get(static_cast<uint32_t>(t)));
    for (int k = 0; k < out.shape.rank; ++k) {
      const Interval d = bound_of(out.shape[k], Span<const Interval>(l_.exprs, l_.program->expr_count()));
      if (d.lo == d.hi) out.shape[k] = d.hi;
    }
    return out;
  }
  const SessionLayout& l_;
  uint32_t index_;
  const fb::Node& node_;
};

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

// A part runs where its first node stands; its inner values get no memory.
void plan_part(const fb::Subgraph& g, const JoinedPart& part, const PlanWorkspace& w, PlanNode* out) {
  out->inputs = Span<const int32_t>(part.inputs, part.input_count);
  out->outputs = Span<const int32_t>(part.outputs, part.output_count);
  for (uint32_t k = 0; k < part.count; ++k) {
    for (const int32_t y : *g.nodes()->Get(part.nodes[k])->outputs()) {
      bool inner = y >= 0;
      for (uint32_t o = 0; inner && o < part.output_count; ++o) inner = part.outputs[o] != y;
      if (inner) w.tensors[y].kind = PlanTensor::kConstant;
    }
  }
}

// What each tensor is to the planner: whose memory it has, and how long it keeps it.
void plan_tensors(const SessionLayout& l, uint32_t index, const PlanWorkspace& w) {
  const fb::Subgraph& g = l.graph(index);
  const SubLayout& s = l.subs[index];
  const bool bound = binds_outputs(l, index);
  for (uint32_t t = 0; t < s.tensor_count; ++t) {
    w.tensors[t] = PlanTensor{};
    w.tensors[t].bytes = tensor_bytes(s.max_types[t]);
    if (g.tensors()->Get(t)->segment() >= 0) w.tensors[t].kind = PlanTensor::kConstant;
  }
  for (const uint32_t t : *g.outputs()) {
    if (w.tensors[t].kind == PlanTensor::kConstant) continue;
    w.tensors[t].output = true;
    if (bound) w.tensors[t].kind = PlanTensor::kBound;
  }
  uint32_t k = 0;
  for (const uint32_t t : *g.inputs()) {
    w.tensors[t].kind = index != 0                                       ? PlanTensor::kBound
                        : l.begins_again || state_of(*l.program, k) >= 0 ? PlanTensor::kState
                                                                         : PlanTensor::kInput;
    ++k;
  }
}

// What the largest of the node's bodies takes; -1 where it owns none.
Status body_bytes(const SessionLayout& l, const fb::Node& node, int64_t* bytes, Error* error) {
  *bytes = -1;
  for (uint32_t b = 0; owns_bodies(node) && b < node.subgraphs()->size(); ++b) {
    const SubLayout& body = l.subs[node.subgraphs()->Get(b)];
    const uint64_t size = body.dead ? 0 : body.bytes;
    if (size > static_cast<uint64_t>(INT64_MAX)) return fail(error, Status::kInvalidModel, "a body's region overflows");
    if (static_cast<int64_t>(size) > *bytes) *bytes = static_cast<int64_t>(size);
  }
  return Status::kOk;
}

// A node that runs by itself. `at` is where its parts' offsets go, and moves behind them.
Status plan_node(const SessionLayout& l, uint32_t index, const fb::Node& node, int64_t** at, PlanNode* out,
                 Error* error) {
  const fb::Subgraph& g = l.graph(index);
  out->inputs = span_of(*node.inputs());
  out->outputs = span_of(*node.outputs());
  if (const OpRow* row = find_op(static_cast<Op>(node.op()))) {
    out->inplace = operator_inplace(g, node, row->def->inplace);
    out->view = (row->def->flags & OpDef::kView) != 0;
    out->joins = (row->def->flags & OpDef::kInputsInside) != 0;
    const Span<int64_t> parts(*at, part_count(node));
    if (VIREO_PARTS && part_offsets(*row->def, DeclaredNode(l, index, node), parts)) {
      out->at = Span<const int64_t>(parts.data(), parts.size());
      *at += parts.size();
    }
  }
  if (static_cast<Op>(node.op()) == Op::kComposite && owns_bodies(node))
    out->inplace = body_inplace(g, node, l.graph(node.subgraphs()->Get(0)));
  return body_bytes(l, node, &out->region_bytes, error);
}

Status fill_plan(const SessionLayout& l, uint32_t index, const PlanWorkspace& w, Error* error) {
  const fb::Subgraph& g = l.graph(index);
  const SubLayout& s = l.subs[index];
  plan_tensors(l, index, w);
  int64_t* at = w.at;
  for (uint32_t n = 0; n < s.node_count; ++n) {
    const fb::Node& node = *g.nodes()->Get(n);
    PlanNode& out = w.nodes[n];
    out = PlanNode{};
    if (VIREO_JOINED && (s.nodes[n].part != nullptr || s.nodes[n].joined == 0)) {
      const JoinedPart* const part = s.nodes[n].part;
      out.region_bytes = has_region(s, n, node) ? static_cast<int64_t>(part->region_bytes) : -1;
      if (part != nullptr) plan_part(g, *part, w, &out);
      continue;
    }
    VIREO_TRY(plan_node(l, index, node, &at, &out, error));
  }
  if constexpr (VIREO_JOINED) {
    if (l.parts != nullptr && !l.begins_again) spare_host_memory(l, index, w);
  }
  return Status::kOk;
}

bool in_arena(const PlanTensor& t) { return t.kind != PlanTensor::kConstant && t.kind != PlanTensor::kBound; }

struct PlanCheck {
  const SubLayout& s;
  PlanWorkspace w;  // a copy of its pointers: read everywhere, and a reference would be one step more

  int64_t bytes(int32_t t) const { return w.tensors[t].bytes; }
  // What a body gives out lies where its owner says, and so do values that the plan puts there.
  uint64_t place(int32_t t) const {
    return w.tensors[t].kind == PlanTensor::kBound ? output_alias(static_cast<uint32_t>(t)) : s.offsets[t];
  }
  bool overlap(int32_t a, int32_t b) const {
    const uint64_t oa = place(a), ob = place(b);
    if (oa >= kFirstAlias || ob >= kFirstAlias) return oa == ob && oa != kNoOffset;
    return oa < ob + static_cast<uint64_t>(bytes(b)) && ob < oa + static_cast<uint64_t>(bytes(a));
  }
  bool same_place(int32_t a, int32_t b) const { return place(a) == place(b); }
  // Does `part` lie at byte `at` of `whole`, for good? Inputs do not: the caller may bind others.
  bool inside(int32_t part, int32_t whole, int64_t at) const {
    if (part < 0 || whole < 0 || at < 0) return false;
    if (w.tensors[part].kind != PlanTensor::kValue || w.tensors[whole].kind != PlanTensor::kValue) return false;
    if (bytes(part) > bytes(whole) || at > bytes(whole) - bytes(part)) return false;
    const uint64_t op = s.offsets[part], ow = s.offsets[whole];
    if (op >= kFirstAlias || ow >= kFirstAlias) return at == 0 && op == ow;
    return op == ow + static_cast<uint64_t>(at);
  }
  // Node `n` makes its output `o` at its place. Does it leave the bytes of `x` there as they are? A view of an input
  // and a part in its place are not written at all, nor are the parts of a whole that already lie there.
  bool leaves(const PlanNode& n, size_t o, int32_t x) const {
    const int32_t y = n.outputs[o];
    if (n.view && o == 0 && !n.inputs.empty() && n.inputs[0] >= 0 && bytes(n.inputs[0]) == bytes(y) &&
        w.tensors[n.inputs[0]].kind == PlanTensor::kValue && same_place(n.inputs[0], y)) {
      return true;
    }
    if (!VIREO_PARTS || n.at.empty()) return false;
    if (!n.joins) return o < n.at.size() && inside(y, n.inputs[0], n.at[o]);
    if (o != 0 || s.offsets[y] >= kFirstAlias || s.offsets[x] >= kFirstAlias) return false;
    const uint64_t begin = s.offsets[x], end = begin + static_cast<uint64_t>(bytes(x));
    for (size_t i = 0; i < n.at.size(); ++i) {
      const uint64_t low = s.offsets[y] + static_cast<uint64_t>(n.at[i]);
      const uint64_t high = s.offsets[y] + static_cast<uint64_t>(i + 1 < n.at.size() ? n.at[i + 1] : bytes(y));
      if (begin < high && low < end && !inside(n.inputs[i], y, n.at[i])) return false;
    }
    return true;
  }
  // May it write over x? Only where it works in place on x's very bytes and nobody needs them later.
  bool may_overwrite(const PlanNode& n, int32_t index, size_t o, int32_t x) const {
    const int32_t y = n.outputs[o];
    if (o != 0 || w.last_use[x] != index || !same_place(x, y) || bytes(x) != bytes(y)) return false;
    bool read = false, allowed = false;
    size_t readings = 0, others = 0;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const int32_t t = n.inputs[i];
      if (t < 0) continue;
      read = read || t == x;
      const bool offered = i < 32 && (n.inplace >> i & 1u) != 0;
      const bool there = same_place(t, y) || overlap(t, y);
      readings += there ? 1 : 0;
      others += there && !offered ? 1 : 0;
      allowed =
          allowed || (offered && w.tensors[t].kind == PlanTensor::kValue && same_place(t, y) && bytes(t) == bytes(y));
    }
    // A body reads its inputs when it likes, and an operator what it has not offered.
    return read && allowed && others == 0 && (n.region_bytes < 0 || readings == 1);
  }
};

// A plan from a file: everything inside the region, and no two tensors in one place at one time unless an operator
// allows it.
class FilePlan : PlanCheck {
 public:
  FilePlan(const SessionLayout& l, uint32_t index, const PlanWorkspace& workspace, Error* error)
      : PlanCheck{l.subs[index], workspace}, l_(l), index_(index), error_(error) {}

  Status check() {
    mark_made();
    for (uint32_t t = 0; t < s.tensor_count; ++t) VIREO_TRY(check_place(t));
    find_last_uses();
    VIREO_TRY(check_inputs());
    uint32_t region = 0;
    for (int32_t n = 0; n < node_count(); ++n) {
      forget_dead(n);
      VIREO_TRY(check_outputs(n));
      if (w.nodes[n].region_bytes >= 0) VIREO_TRY(check_region(w.nodes[n], s.regions[region++]));
    }
    return Status::kOk;
  }

 private:
  int32_t node_count() const { return static_cast<int32_t>(s.node_count); }

  Status bad(uint32_t t, const char* what) const {
    const char* const name = text_of(l_.graph(index_).tensors()->Get(t)->name());
    blame_tensor(error_, name);
    return fail(error_, Status::kInvalidModel, "the plan of subgraph {} puts tensor \"{}\" {}", index_, name, what);
  }
  Status bad(int32_t t, const char* what) const { return bad(static_cast<uint32_t>(t), what); }

  // w.live, until values live there: 1 where a node makes the tensor.
  void mark_made() const {
    for (uint32_t t = 0; t < s.tensor_count; ++t) w.live[t] = 0;
    for (int32_t n = 0; n < node_count(); ++n) {
      for (const int32_t y : w.nodes[n].outputs) {
        if (y >= 0) w.live[y] = 1;
      }
    }
  }

  // A value with the memory of an output that the owner binds.
  bool alias_ok(uint32_t t) const {
    const uint32_t k = s.offsets[t] == kNoOffset ? UINT32_MAX : alias_of(s.offsets[t]);
    return k < s.tensor_count && w.tensors[k].kind == PlanTensor::kBound && w.tensors[k].output &&
           w.live[k] != 0 &&  // else an input that is an output, too
           w.tensors[k].bytes >= w.tensors[t].bytes;
  }

  Status check_place(uint32_t t) const {
    const uint64_t offset = s.offsets[t];
    if (!in_arena(w.tensors[t]))
      return offset == kNoOffset ? Status::kOk : bad(t, "in the arena, where it does not belong");
    if (offset >= kFirstAlias) return alias_ok(t) ? Status::kOk : bad(t, "nowhere");
    return in_region(offset, w.tensors[t].bytes, kPartAlignment) ? Status::kOk : bad(t, "outside its region");
  }

  bool in_region(uint64_t offset, int64_t size, uint64_t alignment) const {
    uint64_t end = 0;
    return offset % alignment == 0 && checked_add(offset, static_cast<uint64_t>(size), &end) && end <= s.bytes;
  }

  void find_last_uses() const {
    for (uint32_t t = 0; t < s.tensor_count; ++t)
      w.last_use[t] = w.tensors[t].output || w.tensors[t].kind == PlanTensor::kState ? node_count() : -1;
    for (int32_t n = 0; n < node_count(); ++n) {
      for (const int32_t x : w.nodes[n].inputs) use(x, n);
      for (const int32_t y : w.nodes[n].outputs) use(y, n);
    }
  }
  void use(int32_t t, int32_t n) const {
    if (t >= 0 && w.last_use[t] < n) w.last_use[t] = n;
  }

  // Inputs live from the beginning.
  Status check_inputs() {
    for (uint32_t t = 0; t < s.tensor_count; ++t) {
      if (w.tensors[t].kind == PlanTensor::kInput || w.tensors[t].kind == PlanTensor::kState)
        w.live[live_++] = static_cast<int32_t>(t);
    }
    for (size_t a = 0; a < live_; ++a) {
      for (size_t b = 0; b < a; ++b) {
        if (overlap(w.live[a], w.live[b])) return bad(w.live[a], "over another input");
      }
    }
    return Status::kOk;
  }

  void forget_dead(int32_t n) {
    size_t kept = 0;
    for (size_t k = 0; k < live_; ++k) {
      if (w.last_use[w.live[k]] >= n) w.live[kept++] = w.live[k];
    }
    live_ = kept;
  }

  Status check_outputs(int32_t n) {
    const PlanNode& node = w.nodes[n];
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      const int32_t y = node.outputs[o];
      if (y < 0 || (!in_arena(w.tensors[y]) && w.tensors[y].kind != PlanTensor::kBound)) continue;
      for (size_t k = 0; k < live_; ++k) {
        const int32_t x = w.live[k];
        if (overlap(x, y) && !leaves(node, o, x) && !may_overwrite(node, n, o, x))
          return bad(y, "over another that is still needed");
      }
      w.live[live_++] = y;
    }
    return Status::kOk;
  }

  Status check_region(const PlanNode& node, uint64_t at) const {
    if (!in_region(at, node.region_bytes, kTensorAlignment))
      return fail(error_, Status::kInvalidModel, "the plan of subgraph {} puts a body outside its region", index_);
    const uint64_t end = at + static_cast<uint64_t>(node.region_bytes);
    for (size_t k = 0; k < live_; ++k) {
      const int32_t x = w.live[k];
      const uint64_t begin = s.offsets[x];
      if (begin < kFirstAlias && begin < end && at < begin + static_cast<uint64_t>(w.tensors[x].bytes))
        return bad(x, "over a body's memory");
    }
    return Status::kOk;
  }

  const SessionLayout& l_;
  uint32_t index_;
  Error* error_;
  size_t live_ = 0;
};

// Views, and operators whose parts all lie in their whole: with fixed shapes there is nothing to run.
void find_in_place(const SubLayout& s, const PlanWorkspace& w) {
  const PlanCheck check{s, w};
  for (uint32_t n = 0; n < s.node_count; ++n) {
    const PlanNode& node = w.nodes[n];
    if (node.inputs.empty() || node.outputs.empty()) continue;
    const int32_t x = node.inputs[0], y = node.outputs[0];
    bool in_place = node.view ? check.inside(y, x, 0) && check.bytes(x) == check.bytes(y) : !node.at.empty();
    for (size_t i = 0; VIREO_PARTS && in_place && i < node.at.size(); ++i) {
      const int32_t part = node.joins ? node.inputs[i] : node.outputs[i];
      in_place = (part < 0 && !node.joins) || check.inside(part, node.joins ? y : x, node.at[i]);
    }
    s.nodes[n].in_place = in_place;
  }
}

Status plan_anew(const SessionLayout& l, uint32_t index, const PlanWorkspace& w, uint32_t regions, PlanResult* result,
                 Error* error) {
  const SubLayout& s = l.subs[index];
  // Packing is quadratic: below some 2^20 steps, a millisecond, whatever the file says.
  const uint64_t items = uint64_t{s.tensor_count} + s.node_count + 1;
  const auto tries = static_cast<int64_t>(std::min<uint64_t>(200, (uint64_t{1} << 20) / (items * items)));
  return plan_arena_best(Span<const PlanTensor>(w.tensors, s.tensor_count), Span<const PlanNode>(w.nodes, s.node_count),
                         binds_outputs(l, index), Span<uint8_t>(w.bytes, w.byte_count),
                         Span<uint64_t>(s.offsets, s.tensor_count), Span<uint64_t>(s.regions, regions), result, error,
                         tries);
}

uint32_t region_count(const SubLayout& s, const PlanWorkspace& w) {
  uint32_t regions = 0;
  for (uint32_t n = 0; n < s.node_count; ++n) regions += w.nodes[n].region_bytes >= 0 ? 1 : 0;
  return regions;
}

}  // namespace

bool has_region(const SubLayout& s, uint32_t n, const fb::Node& node) {
  const NodeChoice& choice = s.nodes[n];
  if (VIREO_JOINED && (choice.part != nullptr || choice.joined == 0))
    return choice.part != nullptr && choice.part->falls_back;
  return owns_bodies(node);
}

bool owns_bodies(const fb::Node& n) { return n.subgraphs() != nullptr && n.subgraphs()->size() != 0; }

uint32_t part_count(const fb::Node& node) {
  if (!VIREO_PARTS) return 0;
  const OpRow* row = find_op(static_cast<Op>(node.op()));
  if (row == nullptr || row->def->parts == nullptr) return 0;
  return (row->def->flags & OpDef::kInputsInside) != 0 ? node.inputs()->size() : node.outputs()->size();
}

Status plan_subgraph(SessionLayout& l, uint32_t index, bool from_file, const PlanWorkspace& w, Error* error) {
  SubLayout& s = l.subs[index];
  if (s.dead) return Status::kOk;
  VIREO_TRY(fill_plan(l, index, w, error));
  const uint32_t regions = region_count(s, w);
  if (from_file) {
    const fb::SubgraphPlan& p = *l.program->plan(index);
    copy_numbers(*p.offsets(), s.tensor_count, s.offsets);
    if (regions != 0) copy_numbers(*p.regions(), regions, s.regions);
    s.bytes = p.bytes();
    s.lower_bound = p.lower_bound();
    if (s.bytes > static_cast<uint64_t>(INT64_MAX) - kTensorAlignment)
      return fail(error, Status::kInvalidModel, "the plan's size overflows");
    VIREO_TRY(FilePlan(l, index, w, error).check());
    find_in_place(s, w);
    return Status::kOk;
  }
  PlanResult result;
  VIREO_TRY(plan_anew(l, index, w, regions, &result, error));
  s.bytes = result.bytes;
  s.lower_bound = result.lower_bound;
  find_in_place(s, w);
  return Status::kOk;
}

#if VIREO_BRANCHES
Status plan_together(SessionLayout& l, const PlanWorkspace& w, Error* error) {
  SubLayout& s = l.subs[0];
  const uint32_t regions = region_count(s, w);
  for (uint32_t t = 0; t < s.tensor_count; ++t) w.before[t] = s.offsets[t];
  for (uint32_t r = 0; r < regions; ++r) w.before[s.tensor_count + r] = s.regions[r];
  PlanResult result;
  VIREO_TRY(plan_anew(l, 0, w, regions, &result, error));
  if (result.bytes <= s.bytes) {
    s.bytes = result.bytes;
    find_in_place(s, w);
    return Status::kOk;
  }
  for (uint32_t t = 0; t < s.tensor_count; ++t) s.offsets[t] = w.before[t];
  for (uint32_t r = 0; r < regions; ++r) s.regions[r] = w.before[s.tensor_count + r];
  return Status::kOk;
}
#endif

}  // namespace vireo
