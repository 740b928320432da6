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
    const std::string base = node_name(node_, &scope_);
    ir::Value* trips = node_.input(0).empty() ? nullptr : lookup(node_.input(0));
    ir::Value* cond = node_.input(1).empty() ? nullptr : lookup(node_.input(1));
    std::vector<Dim> elements;
    int64_t most = -1;
    const bool numbered = trips != nullptr && ir::known_elements(trips, &tools_.state.finder, &elements) &&
                          elements.size() == 1 && !is_symbolic(elements[0]);
    const bool counted = numbered && elements[0] <= kMostTrips;
    if (counted) {
      most = std::max<int64_t>(elements[0], 0);
    } else {
      // A sequence that grows each trip tells by its declared length how many trips there are.
      for (const std::string& name : node_.output()) {
        const ElementsOption* given = tools_.bundles.elements_option(name);
        if (given != nullptr) most = std::max(most, given->count);
      }
      if (trips != nullptr) trips = as_scalar(trips, DType::kI64);
    }
    if (most < 0 || most > kMostTrips) {
      const std::string at_most = "say how many elements the sequence has at most with --elements " +
                                  (node_.output_size() == 0 ? std::string("y") : node_.output(0)) + "=8";
      const std::string carries = "carries a sequence or an optional, and so is unrolled, but ";
      const std::string limit = "at most " + std::to_string(kMostTrips) + " trips are unrolled";
      if (most < 0 && !numbered) {
        return refuse(Code::kUnsupportedNode, carries + "how often it runs is not known: " + limit,
                      "make the trip count a constant, or " + at_most);
      }
      const std::string times = std::to_string(most < 0 ? elements[0] : most);
      return refuse(
          Code::kUnsupportedNode, carries + "runs " + times + " times: " + limit,
          "carry a tensor and no sequence (a scanned output stacks what each trip makes), which stays a loop; "
          "or, where its condition ends it earlier, " +
              at_most);
    }

    std::vector<ir::Value*> state;
    for (size_t i = 0; i < carried; ++i) state.push_back(lookup(node_.input(static_cast<int>(i) + 2)));
    std::vector<std::vector<ir::Value*>> states{state};  // before each trip, and after the last
    std::vector<ir::Value*> active;                      // before each trip: it happens; null: surely
    std::vector<std::vector<ir::Value*>> scanned(static_cast<size_t>(body.output_size()) - 1 - carried);
    // True wherever the trip `t` happens, if all before did. False: surely not.
    ir::Value* going = nullptr;
    const auto goes = [&](int64_t t) {
      const int known = cond == nullptr ? 1 : known_bool(tools_.state.finder, cond);
      if (known == 0 || (counted && t >= most)) return false;
      if (known < 0) going = both(going, as_scalar(cond, DType::kBool));
      if (!counted && trips != nullptr) going = both(going, compare(Op::kLess, t, trips));
      return true;
    };
    bool more = true;
    for (int64_t t = 0; more && t < most; ++t) {
      if (!(more = goes(t))) break;
      active.push_back(going);
      std::vector<ir::Value*> inputs{constant_i64(t), cond == nullptr ? constant_bool(true) : cond};
      inputs.insert(inputs.end(), state.begin(), state.end());
      std::vector<ir::Value*> outputs;
      if (!inline_graph(tools_, scope_, node_, body, base + "/" + std::to_string(t) + "/", inputs, &outputs) ||
          std::find(outputs.begin(), outputs.end(), &tools_.state.poison) != outputs.end())
        return bind_failed();
      cond = outputs[0];
      state.assign(outputs.begin() + 1, outputs.begin() + 1 + static_cast<ptrdiff_t>(carried));
      for (size_t k = 0; k < scanned.size(); ++k) scanned[k].push_back(outputs[1 + carried + k]);
      states.push_back(state);
    }
    more = more && goes(most);

    for (size_t t = active.size(); t-- > 0;) {
      for (size_t i = 0; active[t] != nullptr && i < carried; ++i) {
        state[i] = choose(active[t], state[i], states[t][i]);
        if (state[i] == nullptr) return bind_failed();
      }
    }
    if (more) {
      // The run fails if the loop would go on: a length carries the check.
      Bundle* b = nullptr;
      for (size_t i = 0; b == nullptr && i < carried; ++i) {
        b = bundle(state[i]);
        if (b != nullptr && b->optional) b = b->elements.empty() ? nullptr : bundle(b->elements[0]);
        if (b != nullptr && b->map) b = nullptr;
      }
      if (b == nullptr || going == nullptr)
        return refuse(Code::kUnsupportedNode,
                      "may run more often than the " + std::to_string(most) + " trips that are declared", "");
      ir::Value* ended = emit(Op::kNot, pack<attrs::Unary>(attrs::UnaryT{}), {going});
      b->length = checked(length_of(*b), ended);
      if (b->length == nullptr) return bind_failed();
    }
    for (int i = 0; i < node_.output_size(); ++i) {
      const auto o = static_cast<size_t>(i);
      if (o < carried) {
        bind(i, state[o]);
        continue;
      }
      if (node_.output(i).empty()) continue;
      const std::vector<ir::Value*>& rows = scanned[o - carried];
      if (rows.empty() || going != nullptr)
        return refuse(Code::kUnsupportedNode, "stacks results over trips whose number is not known, beside a sequence",
                      "");
      std::vector<ir::Value*> parts;
      for (ir::Value* v : rows) {
        parts.push_back(bundle(v) != nullptr ? nullptr
                                             : emit(Op::kUnsqueeze, pack<attrs::Unsqueeze>(attrs::UnsqueezeT{}),
                                                    {v, constant_i64(std::vector<int64_t>{0})}));
      }
      attrs::ConcatT a;
      ir::Value* stacked = emit(Op::kConcat, pack<attrs::Concat>(a), std::move(parts));
      bind(i, stacked == nullptr ? &tools_.state.poison : stacked);
    }
  }
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
