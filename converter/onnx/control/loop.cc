// A Loop of tensors.
#include <utility>

#include "converter/onnx/builder.h"
#include "converter/onnx/control/bodies.h"
#include "converter/onnx/control/nodes.h"
#include "converter/onnx/control/unit_extents.h"
#include "converter/onnx/state.h"
#include "sdk/ops/control/control_generated.h"

namespace vireo::importer {
namespace {

bool is_scalar(const TensorType& t, DType dtype) {
  return t.dtype == dtype && (t.shape.rank == 0 || (t.shape.rank == 1 && t.shape[0] == 1));
}

class LoopNode : private NodeBuilder {
 public:
  LoopNode(const Tools& tools, UnitExtents& lifted, Scope& scope, ::onnx::NodeProto& node)
      : NodeBuilder(tools, scope, node), lifted_(lifted) {}

  void import() {
    ::onnx::GraphProto* proto = graph_attribute(node_, "body");
    const int carried = node_.input_size() - 2;
    const int outputs = node_.output_size();
    if (proto == nullptr || carried < 0 || proto->input_size() != carried + 2 || proto->output_size() < carried + 1 ||
        outputs > proto->output_size() - 1) {
      return refuse(
          Code::kBadNode,
          "its body's inputs must be (iteration, condition, states...) and its outputs (condition, states..., "
          "scanned...), as many as the node has",
          "");
    }
    ir::Value* trips = node_.input(0).empty() ? nullptr : lookup(node_.input(0));
    ir::Value* cond = node_.input(1).empty() ? nullptr : lookup(node_.input(1));
    if ((trips != nullptr && !is_scalar(trips->type, DType::kI64)) ||
        (cond != nullptr && !is_scalar(cond->type, DType::kBool))) {
      return refuse(Code::kBadNode, "wants an int64 scalar as trip count and a bool scalar as condition", "");
    }
    std::vector<ir::Value*> states;
    std::vector<TensorType> types{{DType::kI64, {}}, {DType::kBool, {}}};
    for (int i = 0; i < carried; ++i) {
      const std::string& name = node_.input(i + 2);
      if (name.empty()) return refuse(Code::kBadNode, "its state " + std::to_string(i) + " has no initial value", "");
      states.push_back(lookup(name));
      if (bundle(states.back()) != nullptr) return unroll_loop(tools_, scope_, node_, *proto);
      types.push_back(states.back()->type);
    }
    if (makes_bundles(*proto)) return unroll_loop(tools_, scope_, node_, *proto);
    const std::vector<TensorType> initial = types;
    const std::string base = node_name(node_, &scope_);

    // The most trips; a number that large means "until the condition says so".
    std::vector<Dim> elements;
    bool counted = ir::known_elements(trips, &tools_.state.finder, &elements) && elements.size() == 1;
    if (counted && !is_symbolic(elements[0]) && elements[0] > INT32_MAX) counted = false;
    const Dim most = counted ? tools_.state.dims->max(elements[0], 0) : 0;

    // A state may change its shape from trip to trip: dimensions that the body does not keep become symbols, until the
    // body fits itself. Each round widens at least one dimension, so this ends.
    Body body;
    std::map<std::pair<int, int>, bool> widened;  // (state, dimension) -> its symbol has its final bound
    for (bool again = true; again;) {
      again = false;
      if (body.graph != nullptr) {  // its values go now
        tools_.state.finder.forget();
        lifted_.forget(*body.graph);
      }
      if (!import_body(tools_, scope_, node_, *proto, types, &body)) return bind_failed();
      for (int i = 0; i < carried; ++i) {
        const TensorType& in = types[static_cast<size_t>(i) + 2];
        const TensorType& out = body.graph->outputs()[static_cast<size_t>(i) + 1]->type;
        if (in.dtype != out.dtype || in.shape.rank != out.shape.rank) {
          return refuse(Code::kBranchMismatch,
                        "state " + std::to_string(i) + " goes into a trip as " + dtype_name(in.dtype) +
                            tools_.state.dims->text(in.shape) + " and comes out as " + dtype_name(out.dtype) +
                            tools_.state.dims->text(out.shape),
                        "type and rank of a loop's state must not change");
        }
        for (int d = 0; d < in.shape.rank; ++d) {
          if (in.shape[d] == out.shape[d] || widened.count({i, d}) != 0) continue;
          widened[{i, d}] = false;
          types[static_cast<size_t>(i) + 2].shape[d] =
              tools_.state.dims->fresh(base + ".state" + std::to_string(i) + ".size");
          again = true;
        }
      }
      if (again || !counted) continue;
      // A dimension that grows by the same amount each trip is bounded by the trip count.
      for (auto& [key, final] : widened) {
        if (final) continue;
        final = true;
        const auto [i, d] = key;
        const size_t state = static_cast<size_t>(i) + 2;
        const Dim grows =
            tools_.state.dims->sub(body.graph->outputs()[state - 1]->type.shape[d], types[state].shape[d]);
        uint32_t symbol = 0;
        if (!tools_.state.dims->is_symbol(types[state].shape[d], &symbol)) continue;
        bool depends = false;  // on the widened symbol itself, or on what is made inside
        for (const auto& [m, c] : tools_.state.dims->polynomial(grows)) {
          for (const uint32_t atom : m) depends = depends || atom >= symbol;
        }
        if (depends) continue;
        const Dim start = initial[state].shape[d];
        const Dim end = tools_.state.dims->add(start, tools_.state.dims->mul(most, tools_.state.dims->max(grows, 0)));
        types[state].shape[d] = tools_.state.dims->fresh_bounded(base + ".state" + std::to_string(i) + ".size", end);
        again = true;
      }
    }

    if (keeps_text(*body.graph)) return refuse(Code::kUnsupportedNode, kKeepsText, kKeepsTextHelp);

    // Exact when nothing can end the loop early.
    const ir::Value* cond_out = body.graph->outputs()[0];
    while (cond_out->producer != nullptr && cond_out->producer->op == Op::kIdentity)
      cond_out = cond_out->producer->in(0);
    const bool steady = (cond == nullptr || known_bool(tools_.state.finder, cond) == 1) &&
                        (cond_out == body.graph->inputs()[1] || known_bool(tools_.state.finder, cond_out) == 1);
    const Dim count = !counted ? tools_.state.dims->fresh(base + ".trips")
                      : steady ? most
                               : tools_.state.dims->fresh_bounded(base + ".trips", most);
    const Interval range = tools_.state.dims->interval(count);
    attrs::LoopT a;
    a.carried = static_cast<uint32_t>(carried);
    a.scanned = static_cast<uint32_t>(proto->output_size() - 1 - carried);
    a.max_trips = range.open() ? -1 : range.hi;

    std::vector<ir::Value*> inputs{trips, cond};
    inputs.insert(inputs.end(), states.begin(), states.end());
    inputs.insert(inputs.end(), body.outer.begin(), body.outer.end());
    std::vector<TensorType> results;
    std::string message;
    for (int i = 0; i < proto->output_size() - 1; ++i) {
      const TensorType& out = body.graph->outputs()[static_cast<size_t>(i) + 1]->type;
      if (i < carried) {
        results.push_back(types[static_cast<size_t>(i) + 2]);
        continue;
      }
      if (!stack_slices(*tools_.state.dims, out, count, &results.emplace_back(), &message))
        return refuse(Code::kUnsupportedNode, message, "");
    }
    std::vector<DType> packed;  // of the results
    for (size_t i = 0; i < results.size(); ++i) {
      packed.push_back(body.graph->outputs()[i + 1]->type.dtype);
      if (static_cast<int>(i) >= carried) give_whole_bytes(*body.graph, i + 1);
    }
    ir::Node* n = scope_.graph->add_node(Op::kLoop, pack<attrs::Loop>(a), std::move(inputs), results.size());
    n->name = base;
    n->bodies.push_back(std::move(body.graph));
    for (size_t i = 0; i < results.size(); ++i) {
      n->outputs[i]->type = results[i];
      if (static_cast<int>(i) >= outputs) continue;
      bind(static_cast<int>(i), cast_to(*scope_.graph, n->outputs[i], packed[i]));
    }
  }

 private:
  UnitExtents& lifted_;
};

}  // namespace

void import_loop(const Tools& tools, UnitExtents& lifted, Scope& scope, ::onnx::NodeProto& node) {
  LoopNode(tools, lifted, scope, node).import();
}

}  // namespace vireo::importer
