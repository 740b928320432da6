#include "converter/emit/plans.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "converter/emit/schedule.h"
#include "sdk/ops/control/control.h"
#include "sdk/ops/op.h"
#include "sdk/plan/planner.h"

namespace vireo::emit {
namespace {

TensorType type_of(const fb::TensorT& t) {
  TensorType out{static_cast<DType>(t.dtype), {}};
  out.shape.rank = static_cast<int32_t>(t.dims.size());
  for (size_t i = 0; i < t.dims.size(); ++i) out.shape.dims[i] = t.dims[i];
  return out;
}

using Plans =
    std::vector<std::unique_ptr<fb::SubgraphPlanT>>;  // of all subgraphs; bodies are there before their owners

Span<const int32_t> span_of(const std::vector<int32_t>& v) { return {v.data(), v.size()}; }

uint32_t operator_inplace(const fb::SubgraphT& g, const fb::NodeT& n, uint32_t inplace) {
  return inplace_always(inplace, span_of(n.inputs), span_of(n.outputs),
                        [&g](int32_t t) { return type_of(*g.tensors[static_cast<size_t>(t)]); });
}

// What composite_inplace() says of `n`, whose body is `body`.
uint32_t body_inplace(const fb::SubgraphT& g, const fb::NodeT& n, const fb::SubgraphT& body) {
  if (body.nodes.empty()) return 0;
  const fb::NodeT& first = *body.nodes[0];
  const auto read_later = [&body](int32_t t) {
    const auto reads = [t](const auto& node) {
      return std::find(node->inputs.begin(), node->inputs.end(), t) != node->inputs.end();
    };
    return std::find(body.outputs.begin(), body.outputs.end(), static_cast<uint32_t>(t)) != body.outputs.end() ||
           std::any_of(body.nodes.begin() + 1, body.nodes.end(), reads);
  };
  const uint32_t first_inplace = operator_inplace(body, first, find_op(static_cast<Op>(first.op))->def->inplace);
  return operator_inplace(
      g, n,
      composite_inplace(first_inplace, span_of(first.inputs), {body.inputs.data(), body.inputs.size()}, read_later));
}

PlanNode plan_node(const fb::ModelT& model, const fb::SubgraphT& g, const fb::NodeT& n, const Plans& plans,
                   const std::vector<int64_t>& at) {
  const OpDef& def = *find_op(static_cast<Op>(n.op))->def;
  PlanNode node;
  node.inputs = span_of(n.inputs);
  node.outputs = span_of(n.outputs);
  node.inplace = static_cast<Op>(n.op) == Op::kComposite ? body_inplace(g, n, *model.subgraphs[n.subgraphs[0]])
                                                         : operator_inplace(g, n, def.inplace);
  node.view = (def.flags & OpDef::kView) != 0;
  node.at = {at.data(), at.size()};
  node.joins = (def.flags & OpDef::kInputsInside) != 0;
  node.region_bytes = n.subgraphs.empty() ? -1 : 0;
  for (const uint32_t b : n.subgraphs) {
    node.region_bytes = std::max(node.region_bytes, static_cast<int64_t>(plans[b]->bytes));
  }
  return node;
}

enum class Offer { kRefused, kWorse, kKept };

// One subgraph in the planner's terms, and the best plan so far.
struct Search {
  bool as_made = false;  // nodes keep their order
  std::vector<PlanTensor> tensors;
  std::vector<PlanNode> nodes;
  bool body = false;
  std::vector<uint64_t> work;  // the planner's
  bool brief = false;
  int64_t tries = 0;

  fb::SubgraphPlanT best;
  uint64_t placed_bytes = 0;
  std::vector<uint32_t> order;
  std::vector<bool> apart;  // per node: planned without its parts

  // Plans the nodes in `order`, without the parts of those that are `alone`; keeps the result when it takes less
  // memory, or the same with fewer copies.
  Offer offer(const std::vector<uint32_t>& given, const std::vector<bool>& alone, int64_t climb, std::string* reason) {
    std::vector<PlanNode> ordered;
    size_t owners = 0;
    for (const uint32_t n : given) {
      ordered.push_back(nodes[n]);
      if (alone[n]) ordered.back().at = {};
      owners += nodes[n].region_bytes >= 0 ? 1 : 0;
    }
    fb::SubgraphPlanT plan;
    plan.offsets.resize(tensors.size());
    plan.regions.resize(owners);
    PlanResult result;
    Error error;
    if (!ok(plan_arena_best({tensors.data(), tensors.size()}, {ordered.data(), ordered.size()}, body,
                            {reinterpret_cast<uint8_t*>(work.data()), work.size() * 8},
                            {plan.offsets.data(), plan.offsets.size()}, {plan.regions.data(), plan.regions.size()},
                            &result, &error, climb))) {
      *reason = error.message;
      return Offer::kRefused;
    }
    if (std::make_pair(result.bytes, UINT64_MAX - result.placed_bytes) >=
        std::make_pair(best.bytes, UINT64_MAX - placed_bytes)) {
      return Offer::kWorse;
    }
    plan.bytes = result.bytes;
    plan.lower_bound = result.lower_bound;
    best = std::move(plan);
    placed_bytes = result.placed_bytes;
    order = given;
    apart = alone;
    for (size_t n = 0; n < nodes.size(); ++n) apart[n] = apart[n] || result.placed_bytes == 0;
    return Offer::kKept;
  }
};

// Every order that candidate_orders has, packed as well as a bounded search can; the smallest arena is kept, of equal
// ones that with fewer copies, then the earlier order. Where parts inside their wholes would make the arena grow, they
// are let in node by node, the largest first, as long as it does not. Unused workspace of the planner is thrown away
// with the call.
bool best_plan(Search* s, std::string* reason) {
  const size_t items = s->tensors.size() + s->nodes.size();
  s->work.resize(static_cast<size_t>(plan_workspace_bytes(static_cast<int64_t>(s->tensors.size()),
                                                          static_cast<int64_t>(s->nodes.size()))) /
                     8 +
                 1);
  // Packing is quadratic: some 2^29 steps in all.
  s->tries = s->brief ? 0 : static_cast<int64_t>(std::min<size_t>(1000, (size_t{1} << 29) / (items * items + 1)));
  s->best.bytes = UINT64_MAX;
  std::vector<bool> alone(s->nodes.size(), false);
  for (const std::vector<uint32_t>& order : candidate_orders({s->tensors.data(), s->tensors.size()},
                                                             {s->nodes.data(), s->nodes.size()}, s->brief ? 1 : 64)) {
    if (s->as_made && !std::is_sorted(order.begin(), order.end())) continue;
    if (s->offer(order, alone, s->tries, reason) == Offer::kRefused) return false;
  }
  std::vector<std::pair<int64_t, size_t>> large;
  for (size_t n = 0; n < s->nodes.size(); ++n) {
    const PlanNode& node = s->nodes[n];
    if (node.at.empty()) continue;
    alone[n] = true;
    const int32_t whole = node.joins ? node.outputs[0] : node.inputs[0];
    large.emplace_back(-(whole < 0 ? 0 : s->tensors[static_cast<size_t>(whole)].bytes), n);
  }
  if (large.empty() || s->placed_bytes > 0) return true;
  std::sort(large.begin(), large.end());
  // The same number of steps again: each plan packs four orders twice.
  const size_t most = s->brief ? 1 : std::max<size_t>(1, (size_t{1} << 26) / (items * items + 1));
  large.resize(std::min(large.size(), most));
  const auto climb = static_cast<int64_t>(static_cast<size_t>(s->tries) / large.size());
  for (const auto& [bytes, n] : large) {
    alone[n] = false;
    const Offer kept = s->offer(std::vector<uint32_t>(s->order), alone, climb, reason);
    if (kept == Offer::kRefused) return false;
    alone[n] = kept == Offer::kWorse;
  }
  return true;
}

void reorder(const std::vector<uint32_t>& order, std::vector<std::unique_ptr<fb::NodeT>>* nodes) {
  std::vector<std::unique_ptr<fb::NodeT>> ordered;
  for (const uint32_t n : order) ordered.push_back(std::move((*nodes)[n]));
  *nodes = std::move(ordered);
}

// Weights in codes, which a body widens and a kernel never does: a portable plan would keep room for them.
bool widens_weights(const fb::ModelT& model) {
  for (const auto& g : model.subgraphs) {
    for (const auto& n : g->nodes) {
      if (static_cast<Op>(n->op) != Op::kComposite || n->subgraphs.empty()) continue;
      const fb::SubgraphT& body = *model.subgraphs[n->subgraphs[0]];
      if (body.nodes.size() < 2 || static_cast<Op>(body.nodes[0]->op) != Op::kDequantizeLinear) continue;
      const Op product = static_cast<Op>(body.nodes[1]->op);
      if (product == Op::kMatMul || product == Op::kGemm) return true;
    }
  }
  return false;
}

}  // namespace

std::unique_ptr<fb::PlanT> make_plan(fb::ModelT* model, const ExprWriter& exprs, const ConstantOf& constant_of,
                                     Diagnostics* diagnostics, CopyReport* copies, bool quantized, bool brief) {
  auto plan = std::make_unique<fb::PlanT>();
  quantized = quantized || widens_weights(*model);
  Plans plans(model->subgraphs.size());
  bool open = false;
  std::vector<Op> owners(model->subgraphs.size(), Op::kNone);
  for (const auto& g : model->subgraphs) {
    for (const auto& n : g->nodes) {
      for (const uint32_t b : n->subgraphs) owners[b] = static_cast<Op>(n->op);
    }
  }
  // A body stands above its owner.
  for (size_t s = model->subgraphs.size(); s-- > 0;) {
    fb::SubgraphT& g = *model->subgraphs[s];
    const bool body = s > 0, bound_outputs = body && owner_binds_outputs(owners[s]);
    Search search;
    search.body = bound_outputs;
    search.brief = brief;
    search.as_made = quantized && owners[s] == Op::kComposite;
    std::vector<PlanTensor>& tensors = search.tensors;
    tensors.resize(g.tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const fb::TensorT& t = *g.tensors[i];
      if (t.segment >= 0) {
        tensors[i].kind = PlanTensor::kConstant;
        continue;
      }
      tensors[i].bytes = exprs.bytes_at_most(type_of(t));
      if (tensors[i].bytes >= 0) continue;
      open = true;
      tensors[i].bytes = std::max<int64_t>(exprs.typical_bytes(type_of(t)), 0);
    }
    for (const uint32_t i : g.inputs) tensors[i].kind = body ? PlanTensor::kBound : PlanTensor::kInput;
    for (const uint32_t i : g.outputs) {
      tensors[i].output = true;
      if (bound_outputs) tensors[i].kind = PlanTensor::kBound;
    }
    if (!body) {
      for (const auto& signature : model->signatures) {
        for (const auto& state : signature->states) tensors[g.inputs[state->input]].kind = PlanTensor::kState;
      }
    }
    std::vector<std::vector<int64_t>> at;
    for (const auto& n : g.nodes) {
      at.push_back(parts_of(
          g, *n, [&exprs](int64_t d) { return exprs.bounds(d); },
          [&constant_of, s](int32_t t) { return constant_of(s, t); }));
    }
    for (size_t n = 0; n < at.size(); ++n) search.nodes.push_back(plan_node(*model, g, *g.nodes[n], plans, at[n]));
    std::string reason;
    if (!best_plan(&search, &reason)) {
      diagnostics->error(Code::kPlanFailed, "the memory plan of \"" + g.name + "\" cannot be made: " + reason);
      return nullptr;
    }
    for (size_t n = 0; n < at.size(); ++n) {
      count_copies(*g.nodes[n], {tensors.data(), tensors.size()}, search.best.offsets, at[n], search.apart[n], copies);
    }
    reorder(search.order, &g.nodes);
    plans[s] = std::make_unique<fb::SubgraphPlanT>(std::move(search.best));
  }
  if (!open && !quantized) plan->subgraphs = std::move(plans);
  return plan;
}

}  // namespace vireo::emit
