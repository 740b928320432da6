// A Loop of tensors.
#include <algorithm>
#include <map>
#include <utility>

#include "converter/onnx/builder.h"
#include "converter/onnx/control/bodies.h"
#include "converter/onnx/control/nodes.h"
#include "converter/onnx/control/unit_extents.h"
#include "converter/onnx/state.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/control/control_generated.h"

namespace vireo::importer {
namespace {

bool is_scalar(const TensorType& t, DType dtype) {
  return t.dtype == dtype && (t.shape.rank == 0 || (t.shape.rank == 1 && t.shape[0] == 1));
}

class LoopNode : private NodeBuilder {
 public:
  LoopNode(const Tools& tools, UnitExtents& lifted, Scope& scope, ::onnx::NodeProto& node)
      : NodeBuilder(tools, scope, node),
        lifted_(lifted),
        dims_(*tools.state.dims),
        base_(node_name(node, &scope)),
        proto_(graph_attribute(node, "body")),
        carried_(node.input_size() - 2) {}

  void import() {
    if (!read_inputs()) return;
    count_trips();
    if (!fit_body()) return;
    if (first_made_) count_from_second();
    if (keeps_text(*body_.graph)) return refuse(Code::kUnsupportedNode, kKeepsText, kKeepsTextHelp);
    const Dim count = trips_made();
    std::vector<TensorType> results;
    if (read_results(count, &results)) add_loop(count, results);
  }

 private:
  const TensorType& made(int state) const { return body_.graph->outputs()[static_cast<size_t>(state) + 1]->type; }
  TensorType& taken(int state) { return types_[static_cast<size_t>(state) + 2]; }
  std::string size_name(int state) const { return base_ + ".state" + std::to_string(state) + ".size"; }

  // False: it is refused, or unrolled.
  bool read_inputs() {
    const auto wrong = [&](const std::string& what) {
      refuse(Code::kBadNode, what);
      return false;
    };
    if (proto_ == nullptr || carried_ < 0 || proto_->input_size() != carried_ + 2 ||
        proto_->output_size() < carried_ + 1 || node_.output_size() > proto_->output_size() - 1) {
      return wrong(
          "its body's inputs must be (iteration, condition, states...) and its outputs (condition, states..., "
          "scanned...), as many as the node has");
    }
    trips_ = node_.input(0).empty() ? nullptr : lookup(node_.input(0));
    cond_ = node_.input(1).empty() ? nullptr : lookup(node_.input(1));
    if ((trips_ != nullptr && !is_scalar(trips_->type, DType::kI64)) ||
        (cond_ != nullptr && !is_scalar(cond_->type, DType::kBool)))
      return wrong("wants an int64 scalar as trip count and a bool scalar as condition");
    bool bundles = makes_bundles(*proto_);
    for (int i = 0; i < carried_; ++i) {
      const std::string& name = node_.input(i + 2);
      if (name.empty()) return wrong("its state " + std::to_string(i) + " has no initial value");
      states_.push_back(lookup(name));
      if (bundle(states_.back()) != nullptr) {
        bundles = true;
        break;
      }
      types_.push_back(states_.back()->type);
    }
    if (bundles) unroll_loop(tools_, scope_, node_, *proto_);
    return !bundles;
  }

  // The most trips; a number that large means "until the condition says so".
  void count_trips() {
    std::vector<Dim> elements;
    counted_ = ir::known_elements(trips_, &tools_.state.finder, &elements) && elements.size() == 1;
    if (counted_ && !is_symbolic(elements[0])) known_trips_ = elements[0];
    if (known_trips_ > INT32_MAX) counted_ = false;
    if (counted_) most_ = dims_.max(elements[0], 0);
  }

  // A state may change its shape from trip to trip: dimensions that the body does not keep become symbols, until the
  // body fits itself. Each round widens at least one dimension, so this ends. False: it is refused.
  bool fit_body() {
    initial_ = types_;
    for (bool again = true; again;) {
      if (body_.graph != nullptr) {  // its values go now
        tools_.state.finder.forget();
        lifted_.forget(*body_.graph);
      }
      if (!import_body(tools_, scope_, node_, *proto_, types_, &body_)) {
        bind_failed();
        return false;
      }
      again = false;
      if (!widen(&again)) return false;
      if (!again && counted_) again = bound_growth();
    }
    return true;
  }

  // False: a state changes more than its dimensions, also behind the first trip.
  bool widen(bool* changed) {
    for (int i = 0; i < carried_; ++i) {
      const TensorType &in = taken(i), &out = made(i);
      if (in.dtype != out.dtype || in.shape.rank != out.shape.rank) {
        *changed = true;
        if (first_trip_is_sure()) return make_first_trip();
        refuse(Code::kBranchMismatch,
               "state " + std::to_string(i) + " goes into a trip as " + dtype_name(in.dtype) + dims_.text(in.shape) +
                   " and comes out as " + dtype_name(out.dtype) + dims_.text(out.shape),
               "type and rank of a loop's state must not change");
        return false;
      }
      for (int d = 0; d < in.shape.rank; ++d) {
        if (in.shape[d] == out.shape[d] || widened_.count({i, d}) != 0) continue;
        widened_[{i, d}] = false;
        taken(i).shape[d] = dims_.fresh(size_name(i));
        *changed = true;
      }
    }
    return true;
  }

  // A state may begin as a placeholder of another rank or type, which the first trip replaces (PaddlePaddle's loops).
  bool first_trip_is_sure() {
    return !first_made_ && (trips_ == nullptr || known_trips_ >= 1) &&
           (cond_ == nullptr || known_bool(tools_.state.finder, cond_) == 1) && proto_->output_size() == carried_ + 1;
  }

  // The first trip's nodes stand in front of the loop, which goes on from the second. False: it is refused.
  bool make_first_trip() {
    first_made_ = true;
    ir::Graph& g = *scope_.graph;
    const auto number = [&](int64_t n) {
      return g.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, {}, {n}));
    };
    std::vector<ir::Value*> in{number(0), cond_}, out;
    if (cond_ == nullptr) in[1] = g.add_constant("", ir::make_constant_of<uint8_t>(DType::kBool, {}, {1}));
    in.insert(in.end(), states_.begin(), states_.end());
    if (!inline_graph(tools_, scope_, node_, *proto_, base_ + "/first/", in, &out) ||
        std::find(out.begin(), out.end(), &tools_.state.poison) != out.end()) {
      bind_failed();
      return false;
    }
    if (!is_scalar(out[0]->type, DType::kBool)) {
      refuse(Code::kBadNode, "its body's condition is no bool scalar");
      return false;
    }
    cond_ = out[0];
    states_.assign(out.begin() + 1, out.end());
    types_.resize(2);
    for (const ir::Value* v : states_) types_.push_back(v->type);
    initial_ = types_;
    widened_.clear();
    if (trips_ != nullptr) trips_ = number(known_trips_ - 1);
    if (counted_) most_ = known_trips_ - 1;
    return true;
  }

  // The body counts its trips from 0.
  void count_from_second() {
    ir::Graph& body = *body_.graph;
    ir::Value* const counter = body.inputs()[0];
    if (counter->unused()) return;
    ir::Value* const one = body.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, {}, {1}));
    ir::Node* const next = body.add_node(Op::kAdd, pack<attrs::Binary>(attrs::BinaryT{}), {counter, one}, 1,
                                         body.nodes().empty() ? nullptr : &body.nodes().front());
    next->name = base_ + "/trip";
    next->out()->type = counter->type;
    const std::vector<ir::Use> uses = counter->uses;
    for (const ir::Use& use : uses) {
      if (use.node != next) body.set_input(use.node, use.input, next->out());
    }
    for (size_t i = 0; i < body.outputs().size(); ++i) {
      if (body.outputs()[i] == counter) body.set_output(i, next->out());
    }
  }

  // A dimension that grows by the same amount each trip is bounded by the trip count. True: one got a bound.
  bool bound_growth() {
    bool changed = false;
    for (auto& [key, final] : widened_) {
      if (final) continue;
      final = true;
      const auto [i, d] = key;
      Dim& extent = taken(i).shape[d];
      const Dim grows = dims_.sub(made(i).shape[d], extent);
      uint32_t symbol = 0;
      if (!dims_.is_symbol(extent, &symbol)) continue;
      bool depends = false;  // on the widened symbol itself, or on what is made inside
      for (const auto& [m, c] : dims_.polynomial(grows)) {
        for (const uint32_t atom : m) depends = depends || atom >= symbol;
      }
      if (depends) continue;
      const Dim start = initial_[static_cast<size_t>(i) + 2].shape[d];
      const Dim end = dims_.add(start, dims_.mul(most_, dims_.max(grows, 0)));
      extent = dims_.fresh_bounded(size_name(i), end);
      changed = true;
    }
    return changed;
  }

  // Exact when nothing can end the loop early.
  Dim trips_made() {
    const ir::Value* out = body_.graph->outputs()[0];
    while (out->producer != nullptr && out->producer->op == Op::kIdentity) out = out->producer->in(0);
    ir::ConstantFinder& finder = tools_.state.finder;
    const bool steady = (cond_ == nullptr || known_bool(finder, cond_) == 1) &&
                        (out == body_.graph->inputs()[1] || known_bool(finder, out) == 1);
    if (!counted_) return dims_.fresh(base_ + ".trips");
    return steady ? most_ : dims_.fresh_bounded(base_ + ".trips", most_);
  }

  // The node's results: states, then what is stacked. False: it is refused.
  bool read_results(Dim count, std::vector<TensorType>* results) {
    std::string message;
    for (int i = 0; i < proto_->output_size() - 1; ++i) {
      if (i < carried_) {
        results->push_back(taken(i));
      } else if (!stack_slices(dims_, made(i), count, &results->emplace_back(), &message)) {
        refuse(Code::kUnsupportedNode, message);
        return false;
      }
    }
    return true;
  }

  void add_loop(Dim count, const std::vector<TensorType>& results) {
    const Interval range = dims_.interval(count);
    attrs::LoopT a;
    a.carried = static_cast<uint32_t>(carried_);
    a.scanned = static_cast<uint32_t>(proto_->output_size() - 1 - carried_);
    a.max_trips = range.open() ? -1 : range.hi;
    std::vector<ir::Value*> inputs{trips_, cond_};
    inputs.insert(inputs.end(), states_.begin(), states_.end());
    inputs.insert(inputs.end(), body_.outer.begin(), body_.outer.end());
    std::vector<DType> packed;  // of the results
    for (size_t i = 0; i < results.size(); ++i) {
      packed.push_back(body_.graph->outputs()[i + 1]->type.dtype);
      if (static_cast<int>(i) >= carried_) give_whole_bytes(*body_.graph, i + 1);
    }
    ir::Node* n = scope_.graph->add_node(Op::kLoop, pack<attrs::Loop>(a), std::move(inputs), results.size());
    n->name = base_;
    n->bodies.push_back(std::move(body_.graph));
    for (size_t i = 0; i < results.size(); ++i) {
      n->outputs[i]->type = results[i];
      if (static_cast<int>(i) >= node_.output_size()) continue;
      bind(static_cast<int>(i), cast_to(*scope_.graph, n->outputs[i], packed[i]));
    }
  }

  UnitExtents& lifted_;
  ir::DimTable& dims_;
  const std::string base_;
  ::onnx::GraphProto* const proto_;
  const int carried_;
  ir::Value *trips_ = nullptr, *cond_ = nullptr;  // null: left out
  std::vector<ir::Value*> states_;
  std::vector<TensorType> types_{{DType::kI64, {}}, {DType::kBool, {}}};  // of the body's own inputs
  bool counted_ = false;                                                  // most_ is known
  Dim most_ = 0;                                                          // trips
  int64_t known_trips_ = -1;  // the number that the trip count is; -1: it is not known, or left out
  Body body_;
  bool first_made_ = false;                      // the first trip is in front of the loop
  std::vector<TensorType> initial_;              // types_ before dimensions were widened
  std::map<std::pair<int, int>, bool> widened_;  // (state, dimension) -> its symbol has its final bound
};

}  // namespace

void import_loop(const Tools& tools, UnitExtents& lifted, Scope& scope, ::onnx::NodeProto& node) {
  LoopNode(tools, lifted, scope, node).import();
}

}  // namespace vireo::importer
