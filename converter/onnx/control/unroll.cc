// Control flow that carries sequences or optionals. A graph's If and Loop carry tensors, so both branches of such an If
// are computed and one result chosen; such a Loop is unrolled, as far as it can go, and where only a run knows how far
// it goes the result after that many trips is chosen. What a trip that does not happen computes is thrown away.
#include <algorithm>
#include <utility>

#include "converter/onnx/bundles/choose.h"
#include "converter/onnx/control/bodies.h"
#include "converter/onnx/control/nodes.h"
#include "converter/onnx/names.h"
#include "converter/onnx/state.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/unary/unary_generated.h"

namespace vireo::importer {
namespace {

constexpr int64_t kMostTrips = 4096;

class UnrolledNode : private BundleBuilder {
 public:
  using BundleBuilder::BundleBuilder;

  void choose_branch(ir::Value* cond, ::onnx::GraphProto* const branches[2]) {
    std::vector<ir::Value*> sides[2];
    const std::string base = node_name(node_, &scope_);
    for (int k = 0; k < 2; ++k) {
      if (!inline_graph(tools_, scope_, node_, *branches[k], base + (k == 0 ? "/then/" : "/else/"), {}, &sides[k]))
        return bind_failed();
    }
    cond = as_scalar(cond, DType::kBool);
    for (int i = 0; i < node_.output_size(); ++i) {
      const auto o = static_cast<size_t>(i);
      ir::Value* v = choose(cond, sides[0][o], sides[1][o]);
      bind(i, v == nullptr ? &tools_.state.poison : v);
    }
  }

  void unroll_loop(::onnx::GraphProto& body) {
    const auto carried = static_cast<size_t>(node_.input_size() - 2);
    trips_ = node_.input(0).empty() ? nullptr : lookup(node_.input(0));
    cond_ = node_.input(1).empty() ? nullptr : lookup(node_.input(1));
    if (!count_trips()) return;
    for (size_t i = 0; i < carried; ++i) state_.push_back(lookup(node_.input(static_cast<int>(i) + 2)));
    scanned_.resize(static_cast<size_t>(body.output_size()) - 1 - carried);
    if (!run_trips(body) || !choose_states()) return bind_failed();
    if (may_go_on_ && !check_end()) return;
    bind_results();
  }

 private:
  // Sets most_, and counted_ where each of these trips happens unless the condition ends the loop; else trips_ becomes
  // a scalar for the run to compare. False: refused.
  bool count_trips() {
    std::vector<Dim> elements;
    const bool numbered = trips_ != nullptr && ir::known_elements(trips_, &tools_.state.finder, &elements) &&
                          elements.size() == 1 && !is_symbolic(elements[0]);
    counted_ = numbered && elements[0] <= kMostTrips;
    if (counted_) {
      most_ = std::max<int64_t>(elements[0], 0);
      return true;
    }
    // A sequence that grows each trip tells by its declared length how many trips there are.
    for (const std::string& name : node_.output()) {
      const ElementsOption* given = tools_.bundles.elements_option(name);
      if (given != nullptr) most_ = std::max(most_, given->count);
    }
    if (trips_ != nullptr) trips_ = as_scalar(trips_, DType::kI64);
    if (most_ >= 0 && most_ <= kMostTrips) return true;
    refuse_trips(most_ >= 0 ? most_ : numbered ? elements[0] : -1);
    return false;
  }

  // `times`: that it runs; below 0: not known.
  void refuse_trips(int64_t times) {
    const std::string at_most = "say how many elements the sequence has at most with --elements " +
                                (node_.output_size() == 0 ? std::string("y") : node_.output(0)) + "=8";
    const std::string carries = "carries a sequence or an optional, and so is unrolled, but ";
    const std::string limit = "at most " + std::to_string(kMostTrips) + " trips are unrolled";
    if (times < 0) {
      return refuse(Code::kUnsupportedNode, carries + "how often it runs is not known: " + limit,
                    "make the trip count a constant, or " + at_most);
    }
    refuse(Code::kUnsupportedNode, carries + "runs " + std::to_string(times) + " times: " + limit,
           "carry a tensor and no sequence (a scanned output stacks what each trip makes), which stays a loop; "
           "or, where its condition ends it earlier, " +
               at_most);
  }

  // False: surely the trip `t` does not happen. Else going_ is true wherever it does, if all before did.
  bool goes(int64_t t) {
    const int known = cond_ == nullptr ? 1 : known_bool(tools_.state.finder, cond_);
    if (known == 0 || (counted_ && t >= most_)) return false;
    if (known < 0) going_ = both(going_, as_scalar(cond_, DType::kBool));
    if (!counted_ && trips_ != nullptr) going_ = both(going_, compare(Op::kLess, t, trips_));
    return true;
  }

  // False: a body is refused, which is recorded.
  bool run_trips(::onnx::GraphProto& body) {
    const std::string base = node_name(node_, &scope_);
    states_.push_back(state_);
    for (int64_t t = 0; t < most_; ++t) {
      if (!goes(t)) return true;
      active_.push_back(going_);
      std::vector<ir::Value*> inputs{constant_i64(t), cond_ == nullptr ? constant_bool(true) : cond_};
      inputs.insert(inputs.end(), state_.begin(), state_.end());
      std::vector<ir::Value*> outputs;
      if (!inline_graph(tools_, scope_, node_, body, base + "/" + std::to_string(t) + "/", inputs, &outputs) ||
          std::find(outputs.begin(), outputs.end(), &tools_.state.poison) != outputs.end())
        return false;
      const auto first_scanned = outputs.begin() + 1 + static_cast<ptrdiff_t>(state_.size());
      cond_ = outputs[0];
      state_.assign(outputs.begin() + 1, first_scanned);
      for (size_t k = 0; k < scanned_.size(); ++k) scanned_[k].push_back(first_scanned[static_cast<ptrdiff_t>(k)]);
      states_.push_back(state_);
    }
    may_go_on_ = goes(most_);
    return true;
  }

  // The state after the last trip that happens.
  bool choose_states() {
    for (size_t t = active_.size(); t-- > 0;) {
      for (size_t i = 0; active_[t] != nullptr && i < state_.size(); ++i) {
        state_[i] = choose(active_[t], state_[i], states_[t][i]);
        if (state_[i] == nullptr) return false;
      }
    }
    return true;
  }

  // The sequence whose length can carry a check; null where no sequence can.
  Bundle* with_length() {
    for (ir::Value* const v : state_) {
      Bundle* b = bundle(v);
      if (b != nullptr && b->optional) b = b->elements.empty() ? nullptr : bundle(b->elements[0]);
      if (b != nullptr && !b->map) return b;
    }
    return nullptr;
  }

  // The run fails if the loop would go on. False: refused.
  bool check_end() {
    Bundle* const b = with_length();
    if (b == nullptr || going_ == nullptr) {
      refuse(Code::kUnsupportedNode,
             "may run more often than the " + std::to_string(most_) + " trips that are declared", "");
      return false;
    }
    ir::Value* const ended = emit(Op::kNot, pack<attrs::Unary>(attrs::UnaryT{}), {going_});
    b->length = checked(length_of(*b), ended);
    if (b->length == nullptr) bind_failed();
    return b->length != nullptr;
  }

  // Null where that fails, which is recorded.
  ir::Value* stack(const std::vector<ir::Value*>& rows) {
    std::vector<ir::Value*> parts;
    for (ir::Value* v : rows) {
      parts.push_back(bundle(v) != nullptr ? nullptr
                                           : emit(Op::kUnsqueeze, pack<attrs::Unsqueeze>(attrs::UnsqueezeT{}),
                                                  {v, constant_i64(std::vector<int64_t>{0})}));
    }
    return emit(Op::kConcat, pack<attrs::Concat>(attrs::ConcatT{}), std::move(parts));
  }

  void bind_results() {
    for (int i = 0; i < node_.output_size(); ++i) {
      const auto o = static_cast<size_t>(i);
      if (o < state_.size()) {
        bind(i, state_[o]);
        continue;
      }
      if (node_.output(i).empty()) continue;
      const std::vector<ir::Value*>& rows = scanned_[o - state_.size()];
      if (rows.empty() || going_ != nullptr)
        return refuse(Code::kUnsupportedNode, "stacks results over trips whose number is not known, beside a sequence",
                      "");
      ir::Value* const stacked = stack(rows);
      bind(i, stacked == nullptr ? &tools_.state.poison : stacked);
    }
  }

  ir::Value *trips_ = nullptr, *cond_ = nullptr;
  int64_t most_ = -1;                             // trips
  bool counted_ = false;                          // their number is known
  bool may_go_on_ = false;                        // behind the last of them
  ir::Value* going_ = nullptr;                    // that all trips so far happen; null: surely
  std::vector<ir::Value*> state_;                 // after the last trip
  std::vector<std::vector<ir::Value*>> states_;   // before each trip, and after the last
  std::vector<ir::Value*> active_;                // before each trip: going_
  std::vector<std::vector<ir::Value*>> scanned_;  // what each trip makes, by output
};

}  // namespace

bool makes_bundles(const ::onnx::GraphProto& g) {
  return std::any_of(g.output().begin(), g.output().end(), [](const ::onnx::ValueInfoProto& info) {
    return info.type().has_sequence_type() || info.type().has_optional_type();
  });
}

void choose_branch(const Tools& tools, Scope& scope, ::onnx::NodeProto& node, ir::Value* cond,
                   ::onnx::GraphProto* const branches[2]) {
  UnrolledNode(tools, scope, node).choose_branch(cond, branches);
}

void unroll_loop(const Tools& tools, Scope& scope, ::onnx::NodeProto& node, ::onnx::GraphProto& body) {
  UnrolledNode(tools, scope, node).unroll_loop(body);
}

}  // namespace vireo::importer
