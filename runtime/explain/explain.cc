#include "runtime/explain/explain.h"

#include "runtime/explain/makers.h"

#include "runtime/devices/claims.h"
#include "runtime/prepare/arena_plan.h"
#include "runtime/prepare/claim.h"
#include "runtime/prepare/joined.h"
#include "runtime/prepare/target_plan.h"
#include "sdk/ops/control/control_generated.h"

namespace vireo {
namespace {

// What the devices say of one subgraph's nodes: a row a node, a column a device of the runtime.
struct Verdicts {
  const vireo_model* model;  // keeps the reasons
  vireo_verdict* all;
  uint32_t devices;
  uint32_t nodes;
  uint32_t device;  // that is being asked
  Error* error;
};

vireo_status keep(const Verdicts& v, const char* reason, vireo_verdict* out) {
  const char* const kept = keep_text(*v.model, reason);
  if (kept == nullptr) return VIREO_OUT_OF_ARENA;
  out->reason = kept;
  return VIREO_OK;
}

vireo_status take(void* context, const vireo_claim* said) {
  const auto& v = *static_cast<Verdicts*>(context);
  vireo_claim room;
  const vireo_claim* const known = read_claim(said, v.nodes, &room, v.error);
  if (known == nullptr) return VIREO_INVALID_ARGUMENT;
  const vireo_claim& claim = *known;
  vireo_verdict& out = v.all[claim.node * v.devices + v.device];
  if (out.takes != 0) return VIREO_OK;  // the best way comes first
  out.takes = 1;
  out.kernel = claim.kernel == nullptr ? "" : claim.kernel;
  out.time_ns = claim.time_ns;
  return keep(v, claim.reason, &out);
}

vireo_status leave(void* context, uint32_t node, const char* reason) {
  const auto& v = *static_cast<Verdicts*>(context);
  if (node >= v.nodes) return VIREO_INVALID_ARGUMENT;
  vireo_verdict& out = v.all[node * v.devices + v.device];
  return out.takes == 0 && reason != nullptr ? keep(v, reason, &out) : vireo_status{VIREO_OK};
}

const JoinedPart* part_at(const SubLayout& s, uint32_t n) {
  while (s.nodes[n].joined == 0 && n > 0) --n;
  return s.nodes[n].part;
}

class Explainer {
 public:
  Explainer(const SessionLayout& l, const vireo_session_options& options, const vireo_placement_visitor& visitor,
            Error* error)
      : l_(l), rt_(l.model->runtime), options_(options), visitor_(visitor), error_(error) {}
  ~Explainer() { rt_->release(block_, bytes_); }
  Explainer(const Explainer&) = delete;
  Explainer& operator=(const Explainer&) = delete;

  Status run() {
    VIREO_TRY(make_tables());
    for (uint32_t i = 0; i < l_.program->subgraph_count(); ++i) {
      if (!l_.subs[i].dead) VIREO_TRY(ask(i));
    }
    visit(0, 0);
    return Status::kOk;
  }

 private:
  struct Table {
    vireo_verdict* verdicts;
    const vireo_verdict** shown;  // one for each device: the visitor's list of one node
    uint8_t* maker;               // find_makers()
  };

  Status make_tables() {
    const uint32_t subs = l_.program->subgraph_count();
    for (int round = 0; round < 2; ++round) {
      Carver c(block_);
      Table* const tables = c.array<Table>(subs);
      for (uint32_t i = 0; i < subs; ++i) {
        const SubLayout& s = l_.subs[i];
        vireo_verdict* const verdicts = c.array<vireo_verdict>(size_t{s.node_count} * rt_->device_count);
        auto** const shown = c.array<const vireo_verdict*>(rt_->device_count);
        uint8_t* const maker = c.array<uint8_t>(s.tensor_count);
        if (round != 0) tables[i] = {verdicts, shown, maker};
      }
      tables_ = tables;
      if (round != 0) break;
      bytes_ = c.used();
      block_ = rt_->allocate(bytes_);
      if (block_ == nullptr) {
        return fail(error_, Status::kOutOfArena, "the allocator has no {} bytes to explain the placement", bytes_);
      }
    }
    return Status::kOk;
  }

  Status ask(uint32_t sub) {
    const SubLayout& s = l_.subs[sub];
    Verdicts v{l_.model, tables_[sub].verdicts, rt_->device_count, s.node_count, 0, error_};
    const vireo_host& host = rt_->host;
    for (v.device = 0; v.device < v.devices; ++v.device) {
      const Device& d = rt_->devices[v.device];
      for (uint32_t n = 0; n < s.node_count; ++n) {
        vireo_verdict& out = v.all[n * v.devices + v.device];
        out = vireo_verdict{};
        out.struct_size = sizeof(out);
        out.device = d.info.name;
        out.kernel = "";
        out.reason = "it said nothing of this node";
        out.allowed = session_may_use(options_, d) || plan_has(l_, v.device) ? 1 : 0;
      }
      VIREO_TRY(ask_claims(d, host, l_.graphs[sub], l_.math, {&v, take, leave}, error_));
      for (uint32_t n = 0; n < s.node_count; ++n) {
        const char* const refused = refused_reason(l_, d, sub, n);
        if (refused == nullptr) continue;
        v.all[n * v.devices + v.device].takes = 0;
        v.all[n * v.devices + v.device].reason = refused;
      }
    }
    find_makers(l_, sub, tables_[sub].maker);
    return Status::kOk;
  }

  // Bodies stand behind their owners; how deep they nest the loader has bounded.
  void visit(uint32_t sub, uint32_t depth) {
    for (uint32_t n = 0; n < l_.subs[sub].node_count; ++n) {
      tell(sub, n, depth);
      const fb::Node& node = *l_.graph(sub).nodes()->Get(n);
      for (uint32_t b = 0; owns_bodies(node) && b < node.subgraphs()->size(); ++b) {
        if (!l_.subs[node.subgraphs()->Get(b)].dead) visit(node.subgraphs()->Get(b), depth + 1);
      }
    }
  }

  void tell(uint32_t sub, uint32_t n, uint32_t depth) {
    const SubLayout& s = l_.subs[sub];
    const uint8_t* const maker = tables_[sub].maker;
    const fb::Subgraph& g = l_.graph(sub);
    const fb::Node& node = *g.nodes()->Get(n);
    const NodeChoice& choice = s.nodes[n];
    vireo_placed_node out = {};
    out.struct_size = sizeof(out);
    out.depth = depth;
    out.name = text_of(node.name());
    out.op = op_name(static_cast<Op>(node.op()));
    if (static_cast<Op>(node.op()) == Op::kComposite)
      out.op = text_of(flatbuffers::GetRoot<attrs::Composite>(node.attrs()->data())->hint());
    out.device = choice.device == kNoDevice ? "-" : rt_->devices[choice.device].info.name;
    out.second = s.seconds[n].device == kNoDevice ? nullptr : rt_->devices[s.seconds[n].device].info.name;
    out.kernel = choice.kernel;
    out.reason = choice.reason;
    const JoinedPart* const part = part_at(s, n);
    out.part = part == nullptr ? UINT32_MAX : part->first;
    out.part_nodes = part == nullptr ? 1 : part->count;
    if (part != nullptr && part->blob != nullptr) out.part_ns = part->blob->head.time_ns;
    for (const int32_t x : *node.inputs()) {
      if (x < 0 || g.tensors()->Get(static_cast<uint32_t>(x))->segment() >= 0) continue;
      if (maker[x] != choice.device && maker[x] != kNoDevice && choice.device != kNoDevice)
        out.bytes_crossing += static_cast<uint64_t>(tensor_bytes(s.max_types[x]));
    }
    for (const int32_t y : *node.outputs()) {
      if (y < 0) continue;
      out.dtype = g.tensors()->Get(static_cast<uint32_t>(y))->dtype();
      break;
    }
    const Table& table = tables_[sub];
    for (uint32_t d = 0; d < rt_->device_count; ++d)
      table.shown[d] = &table.verdicts[size_t{n} * rt_->device_count + d];
    out.verdicts = table.shown;
    out.verdict_count = rt_->device_count;
    visitor_.node(visitor_.context, &out);
  }

  const SessionLayout& l_;
  const vireo_runtime* rt_;
  const vireo_session_options& options_;
  const vireo_placement_visitor& visitor_;
  Error* error_;
  void* block_ = nullptr;
  size_t bytes_ = 0;
  Table* tables_ = nullptr;
};

}  // namespace

Status explain_model(const vireo_model* model, const vireo_session_options& options,
                     const vireo_placement_visitor& visitor, Error* error) {
  SessionLayout l;
  VIREO_TRY(make_layout(model, options, &l, error));
  const Status status = Explainer(l, options, visitor, error).run();
  free_layout(&l);
  return status;
}

}  // namespace vireo
