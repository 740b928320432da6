#include "runtime/load/program.h"

#include <string.h>

#include "sdk/base/checked.h"
#include "sdk/base/config.h"
#include "sdk/format/verify.h"
#include "sdk/ops/op.h"

namespace vireo {
namespace {

// Smallest alignment of a constant: kernels load whole vectors; scalars and short shape constants stay packed.
uint64_t constant_alignment(uint64_t size) { return size > 8 ? kSegmentAlignment : 8; }

bool dim_ok(Dim d, uint64_t exprs) { return d >= 0 || (is_symbolic(d) && handle_id(d) < exprs); }
bool operand_ok(Dim d, uint64_t exprs) { return !is_symbolic(d) || handle_id(d) < exprs; }

// count + 1 offsets from the tensor's first byte that never fall back, then the bytes.
bool strings_ok(const uint8_t* bytes, uint64_t size, int64_t count) {
  const uint64_t table = (static_cast<uint64_t>(count) + 1) * 4;
  if (count < 0 || static_cast<uint64_t>(count) > size / 4 || table > size) return false;
  uint64_t before = table;
  for (int64_t i = 0; i <= count; ++i) {
    uint32_t at = 0;
    memcpy(&at, bytes + 4 * i, 4);
    if (at < before || at > size) return false;
    before = at;
  }
  return true;
}

}  // namespace

TensorType type_of(const fb::Tensor& t) {
  TensorType type;
  type.dtype = static_cast<DType>(t.dtype());
  type.shape.rank = t.dims() == nullptr ? 0 : static_cast<int32_t>(t.dims()->size());
  if (type.shape.rank != 0) copy_numbers(*t.dims(), t.dims()->size(), &type.shape[0]);
  return type;
}

void Program::touch([[maybe_unused]] const void* bytes, [[maybe_unused]] uint64_t size) const {
#if VIREO_TRUST
  if (guard_ != nullptr) guard_->touch(static_cast<uint64_t>(static_cast<const uint8_t*>(bytes) - file_.data()), size);
#endif
}

const uint8_t* Program::at(uint32_t segment, uint64_t offset, uint64_t size) const {
  const uint8_t* const bytes = file_.data() + model_->segments()->Get(segment)->offset() + offset;
  touch(bytes, size);
  return bytes;
}

const uint8_t* Program::constant(const fb::Tensor& t) const {
  return t.segment() < 0 ? nullptr : at(static_cast<uint32_t>(t.segment()), t.offset(), t.size());
}

Span<const uint8_t> Program::packed() const {
  const uint32_t segment = model_->packed() - 1;  // 0, none, becomes the largest
  if (model_->segments() == nullptr || segment >= model_->segments()->size()) return {};
  return {at(segment, 0, 0), static_cast<size_t>(model_->segments()->Get(segment)->size())};
}

const fb::SubgraphPlan* Program::plan(uint32_t i) const {
  const fb::Plan* portable = model_->plans()->Get(0);
  return portable->subgraphs() == nullptr || portable->subgraphs()->size() == 0 ? nullptr
                                                                                : portable->subgraphs()->Get(i);
}

void Program::bound_exprs(Span<Interval> table) const {
  for (uint32_t i = 0; i < expr_count(); ++i) {
    const fb::Expr& e = *model_->exprs()->Get(i);
    if (e.kind() == fb::ExprKind::Symbol) {
      if (e.data_dependent()) table[i] = up_to(bound_of(e.a(), Span<const Interval>(table)));
      continue;
    }
    table[i] = bound_of(static_cast<ExprKind>(e.kind()), bound_of(e.a(), Span<const Interval>(table)),
                        bound_of(e.b(), Span<const Interval>(table)));
  }
}

Status Program::open(Span<const uint8_t> file, const FileHeader& header, Span<const uint8_t> buffer,
                     Span<uint8_t> workspace, Error* error) {
  file_ = file;
  header_ = header;
  // Every table and vector entry takes bytes in the buffer, so its size bounds the verifier's work.
  ::flatbuffers::Verifier verifier(buffer.data(), buffer.size(), /*max_depth=*/32,
                                   /*max_tables=*/static_cast<::flatbuffers::uoffset_t>(buffer.size() / 4 + 1));
  uint64_t listed = 0;
  if (buffer.size() < 16 || buffer.size() >= FLATBUFFERS_MAX_BUFFER_SIZE ||
      !verify_model(verifier, buffer.data(), &listed) || listed > buffer.size()) {
    return fail(error, Status::kInvalidModel, "the file's graph does not verify: the file is damaged");
  }
  const fb::Model* m = fb::GetModel(buffer.data());
  if (m->major() != kFormatMajor || m->minor() != kFormatMinor) {
    return fail(error, Status::kUnsupported,
                "the graph has format {}.{}, this build reads only {}.{}: convert the model again",
                static_cast<int>(m->major()), static_cast<int>(m->minor()), static_cast<int>(kFormatMajor),
                static_cast<int>(kFormatMinor));
  }
  if (m->subgraphs() == nullptr || m->subgraphs()->size() == 0 || m->subgraphs()->size() > kMaxSubgraphs ||
      m->plans() == nullptr || m->plans()->size() == 0 || (m->exprs() != nullptr && m->exprs()->size() > kMaxExprs)) {
    return fail(error, Status::kInvalidModel, "the file lacks its graph or its portable plan");
  }
  model_ = m;
  VIREO_TRY(check_segments(error));
  VIREO_TRY(check_exprs(error));
  uint64_t strings = 0;
  for (uint32_t i = 0; i < subgraph_count(); ++i) VIREO_TRY(check_subgraph(i, workspace, &strings, error));
  VIREO_TRY(check_owners(workspace, error));
  VIREO_TRY(check_plans(error));
  return check_signatures(error);
}

Status Program::check_segments(Error* error) const {
  if (model_->segments() == nullptr) return Status::kOk;
  for (uint32_t i = 0; i < model_->segments()->size(); ++i) {
    const fb::Segment& s = *model_->segments()->Get(i);
    if (s.codec() != 0 || s.cipher() != 0) {
      return fail(error, Status::kUnsupported,
                  "segment {} is compressed (codec {}) or encrypted (cipher {}), which this build cannot undo", i,
                  static_cast<int>(s.codec()), static_cast<int>(s.cipher()));
    }
    uint64_t end = 0;
    if (s.alignment() < kSegmentAlignment || (s.alignment() & (s.alignment() - 1)) != 0 ||
        s.offset() % s.alignment() != 0 || s.offset() < kHeaderBytes || !checked_add(s.offset(), s.size(), &end) ||
        end > (header_.cipher_offset == 0 ? header_.hash_offset : header_.cipher_offset)) {
      return fail(error, Status::kInvalidModel, "segment {} lies outside the file or is not aligned", i);
    }
  }
  return Status::kOk;
}

// Counts `size` bytes of strings more, before they are looked at.
bool Program::strings_fit(uint64_t size, uint64_t* read) const {
  *read += size;
  return *read <= kMaxStringsShared * file_.size();
}

bool Program::run_inside(uint32_t segment, uint64_t offset, uint64_t size, uint64_t alignment) const {
  uint64_t end = 0;
  return model_->segments() != nullptr && segment < model_->segments()->size() && offset % alignment == 0 &&
         checked_add(offset, size, &end) && end <= model_->segments()->Get(segment)->size();
}

Status Program::check_exprs(Error* error) const {
  for (uint32_t i = 0; i < expr_count(); ++i) {
    const fb::Expr& e = *model_->exprs()->Get(i);
    bool good = e.kind() <= fb::ExprKind::MAX && operand_ok(e.a(), i);
    if (e.kind() == fb::ExprKind::Symbol) {
      good = good && e.lo() >= 0 && (e.hi() == -1 || e.hi() >= e.lo());
    } else {
      good = good && operand_ok(e.b(), i);
    }
    if (!good) return fail(error, Status::kInvalidModel, "dimension expression {} is malformed", i);
  }
  return Status::kOk;
}

Status Program::check_tensor(const fb::Tensor& t, uint32_t subgraph, uint32_t index, uint64_t* strings,
                             Error* error) const {
  const char* name = text_of(t.name());
  const auto bad = [&](const char* what) {
    return fail(error, Status::kInvalidModel, "tensor {} \"{}\" of subgraph {}: {}", index, name, subgraph, what);
  };
  if (t.dtype() == 0 || t.dtype() >= kDTypeCount) return bad("unknown data type");
  if (t.dims() != nullptr && t.dims()->size() > static_cast<uint32_t>(kMaxRank)) return bad("rank above 8");
  const TensorType type = type_of(t);
  for (int i = 0; i < type.shape.rank; ++i) {
    if (!dim_ok(type.shape[i], expr_count())) return bad("malformed dimension");
  }
  if (type.shape.is_static() && tensor_bytes(type) < 0) return bad("its size overflows");
  if (t.segment() == -1) return Status::kOk;
  if (t.segment() < 0 || !type.shape.is_static()) return bad("malformed constant");
  if (!run_inside(static_cast<uint32_t>(t.segment()), t.offset(), t.size(), constant_alignment(t.size()))) {
    return bad("its bytes lie outside their segment");
  }
  if (type.dtype == DType::kString) {
    if (!strings_fit(t.size(), strings))
      return bad("with it, strings that constants share are more than 64 times the file's bytes");
    if (!strings_ok(constant(t), t.size(), element_count(type.shape))) return bad("malformed strings");
  } else if (static_cast<uint64_t>(tensor_bytes(type)) != t.size()) {
    return bad("its bytes do not fit its type and shape");
  }
  return Status::kOk;
}

Status Program::check_node(const fb::Subgraph& g, uint32_t subgraph, uint32_t index, Error* error) const {
  const fb::Node& n = *g.nodes()->Get(index);
  const auto bad = [&](const char* what) {
    return fail(error, Status::kInvalidModel, "node {} \"{}\" ({}): {}", index, text_of(n.name()),
                op_name(static_cast<Op>(n.op())), what);
  };
  const auto op = static_cast<Op>(n.op());
  const OpRow* row = find_op(op);
  const uint32_t tensors = g.tensors()->size();
  // Indices of tensors, from `required` on also -1.
  const auto good = [tensors](const ::flatbuffers::Vector<int32_t>& list, uint32_t required) {
    for (uint32_t i = 0; i < list.size(); ++i) {
      const auto plus_one = static_cast<uint32_t>(list.Get(i)) + 1;
      if (plus_one > tensors || (plus_one == 0 && i < required)) return false;
    }
    return true;
  };
  // A Loop may lack trip count and condition, a recurrent operator the sequence that it gives.
  // What a later version asks for is not known here.
  const bool unknown = row == nullptr || n.version() > row->version;
  const bool any_input = unknown || op == Op::kLoop;
  const bool any_output = unknown || op == Op::kLSTM || op == Op::kGRU || op == Op::kRNN;
  if (!good(*n.inputs(), any_input ? 0 : row->def->min_inputs))
    return bad("an input does not exist, or is absent and required");
  if (!good(*n.outputs(), any_output ? 0 : row->def->min_outputs))
    return bad("an output does not exist, or is absent and required");
  if (row == nullptr) return Status::kOk;  // not in this build: a session that needs it is refused by name
  if (n.version() > row->version) {
    return fail(error, Status::kUnsupported,
                "node {} \"{}\": {} version {} is newer than this build's {}: update Vireo", index, text_of(n.name()),
                row->def->name, static_cast<int>(n.version()), static_cast<int>(row->version));
  }
  const OpDef& def = *row->def;
  const auto within = [](uint32_t count, uint8_t low, uint8_t high) {
    return count >= low && (high == 255 || count <= high);
  };
  if (!within(n.inputs()->size(), def.min_inputs, def.max_inputs) ||
      !within(n.outputs()->size(), def.min_outputs, def.max_outputs)) {
    return bad("wrong number of inputs or outputs");
  }
  const Span<const uint8_t> attrs(n.attrs()->data(), n.attrs()->size());
  if (reinterpret_cast<uintptr_t>(attrs.data()) % 8 != 0 || !def.verify(attrs))
    return bad("its attributes do not verify");
  const uint32_t owned = n.subgraphs() == nullptr ? 0 : n.subgraphs()->size();
  const uint32_t wanted = op == Op::kIf ? 2 : (def.flags & OpDef::kControlFlow) != 0 ? 1 : 0;
  if (owned != wanted) return bad("wrong number of bodies");
  for (uint32_t i = 0; i < owned; ++i) {
    const uint32_t body = n.subgraphs()->Get(i);
    if (body <= subgraph || body >= subgraph_count()) return bad("a body does not exist");
  }
  return Status::kOk;
}

Status Program::check_subgraph(uint32_t index, Span<uint8_t> defined, uint64_t* strings, Error* error) const {
  const fb::Subgraph& g = subgraph(index);
  const uint32_t count = g.tensors()->size();
  if (count > kMaxTensors || g.nodes()->size() > kMaxNodes || count > defined.size()) {
    return fail(error, Status::kInvalidModel, "subgraph {} is too large", index);
  }
  for (uint32_t t = 0; t < count; ++t) {
    VIREO_TRY(check_tensor(*g.tensors()->Get(t), index, t, strings, error));
    defined[t] = g.tensors()->Get(t)->segment() >= 0 ? 1 : 0;
  }
  for (const uint32_t t : *g.inputs()) {
    if (t >= count || defined[t] != 0)
      return fail(error, Status::kInvalidModel, "subgraph {}: malformed inputs", index);
    defined[t] = 1;
  }
  for (uint32_t i = 0; i < g.nodes()->size(); ++i) {
    VIREO_TRY(check_node(g, index, i, error));
    const fb::Node& n = *g.nodes()->Get(i);
    bool good = true;
    for (const int32_t x : *n.inputs()) good = good && (x < 0 || defined[static_cast<size_t>(x)] != 0);
    for (const int32_t y : *n.outputs()) {
      if (y < 0) continue;
      good = good && defined[static_cast<size_t>(y)] == 0;
      defined[static_cast<size_t>(y)] = 1;
    }
    if (!good) {
      return fail(error, Status::kInvalidModel, "node {} \"{}\" reads what no earlier node makes, or makes what exists",
                  i, text_of(n.name()));
    }
  }
  for (const uint32_t t : *g.outputs()) {
    if (t >= count || defined[t] == 0)
      return fail(error, Status::kInvalidModel, "subgraph {}: malformed outputs", index);
  }
  return Status::kOk;
}

namespace {

// Each output is made by a node, and none is given out twice: run step by step, a body writes them into its owner's.
// `made`: a byte a tensor.
bool makes_outputs(const fb::Subgraph& g, uint8_t* made) {
  memset(made, 0, g.tensors()->size());
  for (const fb::Node* n : *g.nodes()) {
    for (const int32_t y : *n->outputs()) {
      if (y >= 0) made[y] = 1;
    }
  }
  for (const uint32_t t : *g.outputs()) {
    if (made[t] == 0) return false;
    made[t] = 0;
  }
  return true;
}

}  // namespace

// Every body has one owner, and owners nest at most kMaxNesting deep. Bodies stand behind their owners, so one pass
// does. Subgraphs and tensors take four bytes each in lists of the buffer, so that `depth` has room for both.
Status Program::check_owners(Span<uint8_t> depth, Error* error) const {
  if (depth.size() < subgraph_count()) return fail(error, Status::kInvalidModel, "too many subgraphs");
  depth[0] = 1;
  for (uint32_t i = 1; i < subgraph_count(); ++i) depth[i] = 0;
  for (uint32_t i = 0; i < subgraph_count(); ++i) {
    if (depth[i] == 0) return fail(error, Status::kInvalidModel, "subgraph {} belongs to no node", i);
    for (const fb::Node* n : *subgraph(i).nodes()) {
      if (n->subgraphs() == nullptr) continue;
      for (const uint32_t body : *n->subgraphs()) {
        if (body <= i || body >= subgraph_count() || depth[body] != 0 || depth[i] >= kMaxNesting) {
          return fail(error, Status::kInvalidModel, "subgraph {} has two owners or nests deeper than {}", body,
                      kMaxNesting);
        }
        depth[body] = static_cast<uint8_t>(depth[i] + 1);
        // What a body takes and gives is its owner's memory: nothing may be missing on either side.
        const auto op = static_cast<Op>(n->op());
        const uint32_t skip = op == Op::kIf ? 1 : 0;
        bool whole = true;
        if (op == Op::kIf || op == Op::kComposite) {
          whole = subgraph(body).inputs()->size() + skip == n->inputs()->size() &&
                  subgraph(body).outputs()->size() == n->outputs()->size();
        }
        if (op == Op::kComposite) {
          whole = whole && subgraph(body).tensors()->size() <= depth.size() - subgraph_count() &&
                  makes_outputs(subgraph(body), depth.data() + subgraph_count());
        }
        for (const int32_t x : *n->inputs()) whole = whole && (x >= 0 || op == Op::kLoop);
        for (const int32_t y : *n->outputs()) whole = whole && y >= 0;
        if (!whole) {
          return fail(error, Status::kInvalidModel, "node \"{}\": subgraph {} does not fit it", text_of(n->name()),
                      body);
        }
      }
    }
  }
  return Status::kOk;
}

Status Program::check_plans(Error* error) const {
  const fb::Plan* portable = model_->plans()->Get(0);
  if (portable->target() != nullptr && portable->target()->size() != 0) {
    return fail(error, Status::kInvalidModel, "the portable plan is missing");
  }
  if constexpr (VIREO_JOINED) {
    if (model_->plans()->size() > kMaxPlans)
      return fail(error, Status::kInvalidModel, "the file has more than {} plans", kMaxPlans);
    for (uint32_t i = 1; i < model_->plans()->size(); ++i) {
      const fb::Plan& plan = *model_->plans()->Get(i);
      if (!target_plan_ok(plan)) {
        return fail(error, Status::kInvalidModel, "plan {}, for target \"{}\", does not fit the graph", i,
                    text_of(plan.target()));
      }
    }
  }
  if (portable->subgraphs() == nullptr || portable->subgraphs()->size() == 0) return Status::kOk;
  bool good = portable->subgraphs()->size() == subgraph_count();
  for (uint32_t i = 0; good && i < subgraph_count(); ++i) {
    const fb::SubgraphPlan* p = portable->subgraphs()->Get(i);
    uint32_t owners = 0;
    for (const fb::Node* n : *subgraph(i).nodes())
      owners += n->subgraphs() != nullptr && n->subgraphs()->size() != 0 ? 1 : 0;
    good = (p->order() == nullptr || p->order()->size() == 0) && p->offsets() != nullptr &&
           p->offsets()->size() == subgraph(i).tensors()->size() &&
           (p->regions() == nullptr ? 0 : p->regions()->size()) == owners;
  }
  return good ? Status::kOk : fail(error, Status::kInvalidModel, "the portable plan does not fit the graph");
}

// Of a target's plan alone devices, placement and bounds are read.
bool Program::target_plan_ok(const fb::Plan& plan) const {
  if (plan.target() == nullptr || plan.target()->size() == 0 || plan.target()->size() > kMaxTargetBytes) return false;
  if (plan.made_for() == nullptr || plan.made_for()->size() == 0) return true;
  const uint8_t* const bytes = plan.made_for()->data();
  ::flatbuffers::Verifier verifier(bytes, plan.made_for()->size());
  if (reinterpret_cast<uintptr_t>(bytes) % 8 != 0 || !verifier.VerifyBuffer<fb::TargetPlan>(nullptr)) return false;
  const fb::TargetPlan& made = *target_of(plan);
  const uint32_t devices = made.devices() == nullptr ? 0 : made.devices()->size();
  bool good = devices <= kMaxPlanDevices;
  if (good && made.placement() != nullptr) {
    good = made.placement()->size() == subgraph_count();
    for (uint32_t i = 0; good && i < subgraph_count(); ++i) {
      const auto* const list = made.placement()->Get(i)->device();
      if (list == nullptr || list->size() == 0) continue;
      good = list->size() == subgraph(i).nodes()->size();
      for (const uint8_t d : *list) good = good && (d < devices || d == 255);
    }
  }
  if (good && made.bounds() != nullptr) {
    for (const fb::PlanBound* b : *made.bounds()) good = good && b->lo() >= 0 && b->hi() >= b->lo();
  }
  return good;
}

Status Program::check_signatures(Error* error) const {
  if (model_->signatures() == nullptr) return Status::kOk;
  const fb::Subgraph& g = subgraph(0);
  for (const fb::Signature* s : *model_->signatures()) {
    bool good = (s->inputs() == nullptr || s->inputs()->size() == g.inputs()->size()) &&
                (s->outputs() == nullptr || s->outputs()->size() == g.outputs()->size());
    if (good && s->states() != nullptr) {
      for (const fb::State* state : *s->states()) {
        good = good && state->input() < g.inputs()->size() && state->output() < g.outputs()->size();
        if (!good) break;
        const TensorType in = type_of(*g.tensors()->Get(g.inputs()->Get(state->input())));
        const TensorType out = type_of(*g.tensors()->Get(g.outputs()->Get(state->output())));
        good = in == out && in.dtype != DType::kString;
      }
    }
    if (!good) return fail(error, Status::kInvalidModel, "signature \"{}\" does not fit the graph", text_of(s->name()));
  }
  return Status::kOk;
}

Status Program::check_tests(Error* error) const {
  if (model_->tests() == nullptr) return Status::kOk;
  const fb::Subgraph& g = subgraph(0);
  uint32_t number = 0;
  uint64_t strings = 0;
  for (const fb::TestCase* test : *model_->tests()) {
    bool good = test->inputs()->size() == g.inputs()->size() && test->outputs()->size() == g.outputs()->size();
    for (int side = 0; good && side < 2; ++side) {
      for (const fb::TestTensor* t : *(side == 0 ? test->inputs() : test->outputs())) {
        if (side == 1 && t->dtype() == 0) continue;  // random by design
        TensorType type;
        type.dtype = static_cast<DType>(t->dtype());
        type.shape.rank = t->dims() == nullptr ? 0 : static_cast<int32_t>(t->dims()->size());
        good = good && t->dtype() != 0 && t->dtype() < kDTypeCount && type.shape.rank <= kMaxRank && t->step() > 0 &&
               t->step() <= INT64_MAX && (side == 1 || t->step() == 1) &&
               run_inside(t->segment(), t->offset(), t->size(), constant_alignment(t->size()));
        if (!good) break;
        if (type.shape.rank != 0) copy_numbers(*t->dims(), t->dims()->size(), &type.shape[0]);
        const int64_t count = element_count(type.shape);
        if (type.dtype == DType::kString) {
          good = t->step() == 1 && strings_fit(t->size(), &strings) &&
                 strings_ok(at(t->segment(), t->offset(), t->size()), t->size(), count);
        } else {
          const auto step = static_cast<int64_t>(t->step());
          const int64_t kept = count < 0 ? -1 : count / step + (count % step != 0 ? 1 : 0);
          good = kept >= 0 && dtype_bytes(type.dtype, kept) == static_cast<int64_t>(t->size()) &&
                 (step == 1 || dtype_bits(type.dtype) >= 8);
        }
        if (!good) break;
      }
    }
    if (!good) return fail(error, Status::kInvalidModel, "test case {} does not fit the graph", number);
    ++number;
  }
  return Status::kOk;
}

}  // namespace vireo
