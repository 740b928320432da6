// Branches of an If whose outputs differ in rank by extents of 1 alone (float32[] in one, float32[1] in the other, as
// the body of AffineGrid has it). ONNX lets a value have the rank of the branch that ran; a file of ours has one rank
// for a value. It is the larger, and the other branch's output gets the extents of 1 in front: broadcasting reads both
// alike. That holds for readers whose result is the same either way, so every reader is asked once all are known; where
// one minds (Shape, an output of the model...), the If is refused as before.
#include "converter/onnx/control/unit_extents.h"

#include <utility>

#include "converter/ir/infer.h"
#include "converter/onnx/builder.h"
#include "converter/onnx/state.h"
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/traits.h"

namespace vireo::importer {
namespace {

struct Owner {
  const ir::Graph* graph = nullptr;
  const ir::Node* node = nullptr;
};
using Owners = std::map<const ir::Graph*, Owner>;  // of bodies

void find_owners(const ir::Graph& graph, Owners* owners) {
  for (const ir::Node& n : graph.nodes()) {
    for (const auto& body : n.bodies) {
      (*owners)[body.get()] = {&graph, &n};
      find_owners(*body, owners);
    }
  }
}

// Whether what is made of `v`, a value of `graph`, does not tell if `v` has extents of 1 in front.
bool nobody_minds(const Owners& owners, const ir::Graph& graph, const ir::Value& v) {
  if (v.output_uses > 0) {
    const auto owner = owners.find(&graph);
    if (owner == owners.end() || owner->second.node->op != Op::kIf) return false;
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const ir::Value* outside = graph.outputs()[i] == &v ? owner->second.node->out(i) : nullptr;
      if (outside != nullptr && !nobody_minds(owners, *owner->second.graph, *outside)) return false;
    }
  }
  for (const ir::Use& use : v.uses) {
    const ir::Node& n = *use.node;
    if (n.op == Op::kIf && use.input > 0) {
      for (const auto& body : n.bodies) {
        if (!nobody_minds(owners, *body, *body->inputs()[use.input - 1])) return false;
      }
      continue;
    }
    // The others of these take the shape of their first operand.
    const bool broadcasts = is_elementwise(n.op) && n.def().max_inputs > 1 && n.op != Op::kPRelu && n.op != Op::kClip;
    if (!broadcasts && !(is_elementwise(n.op) && n.def().max_inputs == 1)) return false;
    bool covered = false;  // the result's rank is another operand's
    for (size_t k = 0; broadcasts && k < n.inputs.size(); ++k) {
      const ir::Value* other = n.in(k);
      covered = covered || (other != nullptr && other != &v && other->type.shape.rank >= v.type.shape.rank);
    }
    if (!covered && !nobody_minds(owners, graph, *n.outputs[0])) return false;
  }
  return true;
}

}  // namespace

bool UnitExtents::lift(ir::Graph* one, ir::Graph* other, size_t output) {
  if (one->outputs()[output]->type.shape.rank > other->outputs()[output]->type.shape.rank) std::swap(one, other);
  ir::Value* low = one->outputs()[output];
  const TensorType& high = other->outputs()[output]->type;
  std::vector<int64_t> axes;
  for (int i = 0; i < high.shape.rank - low->type.shape.rank; ++i) {
    if (high.shape[i] != 1) return false;
    axes.push_back(i);
  }
  if (axes.empty() || low->type.dtype != high.dtype) return false;
  ir::Value* inserted = constant_i64(*one, axes);
  ir::Node* n = one->add_node(Op::kUnsqueeze, pack<attrs::Unsqueeze>(attrs::UnsqueezeT{}), {low, inserted}, 1);
  n->name = one->output_names()[output];
  std::string message;
  if (!ok(ir::infer_node(*one, n, &state_.finder, &message))) return false;
  one->set_output(output, n->outputs[0]);
  return true;
}

void UnitExtents::forget(const ir::Graph& graph) {
  if (lifted_.empty()) return;
  for (const ir::Node& n : graph.nodes()) {
    for (const ir::Value* v : n.outputs) lifted_.erase(v);
    for (const auto& body : n.bodies) forget(*body);
  }
}

void UnitExtents::check(const ir::Graph& graph) const {
  if (lifted_.empty()) return;
  Owners owners;
  find_owners(graph, &owners);
  const auto check = [&](const auto& self, const ir::Graph& g) -> void {
    for (const ir::Node& n : g.nodes()) {
      for (const ir::Value* v : n.outputs) {
        const auto at = lifted_.find(v);
        if (at != lifted_.end() && !nobody_minds(owners, g, *v)) state_.diagnostics.add(at->second);
      }
      for (const auto& body : n.bodies) self(self, *body);
    }
  };
  check(check, graph);
}

}  // namespace vireo::importer
