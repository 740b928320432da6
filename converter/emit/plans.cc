#include "converter/emit/plans.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

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

}  // namespace

std::unique_ptr<fb::PlanT> make_plan(const fb::ModelT& model, const ExprWriter& exprs, Diagnostics* diagnostics) {
  auto plan = std::make_unique<fb::PlanT>();
  std::vector<std::unique_ptr<fb::SubgraphPlanT>> plans(model.subgraphs.size());
  // A body stands above its owner.
  for (size_t s = model.subgraphs.size(); s-- > 0;) {
    const fb::SubgraphT& g = *model.subgraphs[s];
    const bool body = s > 0;
    std::vector<PlanTensor> tensors(g.tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const fb::TensorT& t = *g.tensors[i];
      if (t.segment >= 0) {
        tensors[i].kind = PlanTensor::kConstant;
        continue;
      }
      tensors[i].bytes = exprs.bytes_at_most(type_of(t));
      if (tensors[i].bytes < 0) return plan;  // open: the session plans
    }
    for (const uint32_t i : g.inputs) tensors[i].kind = body ? PlanTensor::kBound : PlanTensor::kInput;
    for (const uint32_t i : g.outputs) {
      tensors[i].output = true;
      if (body) tensors[i].kind = PlanTensor::kBound;
    }
    if (!body) {
      for (const auto& signature : model.signatures) {
        for (const auto& state : signature->states) tensors[g.inputs[state->input]].kind = PlanTensor::kState;
      }
    }
    std::vector<PlanNode> nodes;
    size_t owners = 0;
    for (const auto& n : g.nodes) {
      const OpDef& def = *find_op(static_cast<Op>(n->op))->def;
      PlanNode node;
      node.inputs = {n->inputs.data(), n->inputs.size()};
      node.outputs = {n->outputs.data(), n->outputs.size()};
      node.inplace = inplace_always(def.inplace, node.inputs, node.outputs,
                                    [&g](int32_t t) { return type_of(*g.tensors[static_cast<size_t>(t)]); });
      node.view = (def.flags & OpDef::kView) != 0;
      node.region_bytes = -1;
      if (!n->subgraphs.empty()) {
        node.region_bytes = 0;
        for (const uint32_t b : n->subgraphs) {
          node.region_bytes = std::max(node.region_bytes, static_cast<int64_t>(plans[b]->bytes));
        }
        ++owners;
      }
      nodes.push_back(node);
    }
    auto out = std::make_unique<fb::SubgraphPlanT>();
    out->offsets.resize(tensors.size());
    out->regions.resize(owners);
    std::vector<uint64_t> work(static_cast<size_t>(plan_workspace_bytes(static_cast<int64_t>(tensors.size()),
                                                                        static_cast<int64_t>(nodes.size()))) /
                                   8 +
                               1);
    PlanResult result;
    Error error;
    const Status status = plan_arena_best({tensors.data(), tensors.size()}, {nodes.data(), nodes.size()}, body,
                                          {reinterpret_cast<uint8_t*>(work.data()), work.size() * 8},
                                          {out->offsets.data(), out->offsets.size()},
                                          {out->regions.data(), out->regions.size()}, &result, &error);
    if (!ok(status)) {
      diagnostics->error(Code::kPlanFailed, "the memory plan of \"" + g.name + "\" cannot be made: " + error.message);
      return nullptr;
    }
    out->bytes = result.bytes;
    out->lower_bound = result.lower_bound;
    plans[s] = std::move(out);
  }
  plan->subgraphs = std::move(plans);
  return plan;
}

}  // namespace vireo::emit
