// Control flow that carries sequences or optionals. A graph's If and Loop carry tensors, so both branches of such an If
// are computed and one result chosen; such a Loop is unrolled, as far as it can go, and where only a run knows how far
// it goes the result after that many trips is chosen. What a trip that does not happen computes is thrown away.
#include <algorithm>
#include <utility>

#include "converter/onnx/importer.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/unary/unary_generated.h"

namespace vireo::importer {
namespace {

constexpr int64_t kMostTrips = 4096;

}  // namespace

void Importer::choose_branch(Scope& scope, ::onnx::NodeProto& node, ir::Value* cond,
                             ::onnx::GraphProto* const branches[2]) {
  std::vector<ir::Value*> sides[2];
  const std::string base = node_name(node, &scope);
  for (int k = 0; k < 2; ++k) {
    if (!inline_graph(scope, node, *branches[k], base + (k == 0 ? "/then/" : "/else/"), {}, &sides[k]))
      return bind_failed(scope, node);
  }
  cond = as_scalar(scope, node, cond, DType::kBool);
  for (int i = 0; i < node.output_size(); ++i) {
    const auto o = static_cast<size_t>(i);
    ir::Value* v = choose(scope, node, cond, sides[0][o], sides[1][o]);
    bind(scope, node, node.output(i), v == nullptr ? &poison_ : v);
  }
}

void Importer::unroll_loop(Scope& scope, ::onnx::NodeProto& node, ::onnx::GraphProto& body) {
  const auto carried = static_cast<size_t>(node.input_size() - 2);
  const std::string base = node_name(node, &scope);
  const auto refuse = [&](const std::string& what, const std::string& help) {
    record(&node, &scope, Code::kUnsupportedNode, what, help);
    bind_failed(scope, node);
  };
  ir::Value* trips = node.input(0).empty() ? nullptr : lookup(scope, node.input(0));
  ir::Value* cond = node.input(1).empty() ? nullptr : lookup(scope, node.input(1));
  std::vector<Dim> elements;
  int64_t most = -1;
  const bool numbered = trips != nullptr && ir::known_elements(trips, &finder_, &elements) && elements.size() == 1 &&
                        !is_symbolic(elements[0]);
  const bool counted = numbered && elements[0] <= kMostTrips;
  if (counted) {
    most = std::max<int64_t>(elements[0], 0);
  } else {
    // A sequence that grows each trip tells by its declared length how many trips there are.
    for (const std::string& name : node.output()) {
      const ElementsOption* given = elements_option(name);
      if (given != nullptr) most = std::max(most, given->count);
    }
    if (trips != nullptr) trips = as_scalar(scope, node, trips, DType::kI64);
  }
  if (most < 0 || most > kMostTrips) {
    const std::string at_most = "say how many elements the sequence has at most with --elements " +
                                (node.output_size() == 0 ? std::string("y") : node.output(0)) + "=8";
    const std::string carries = "carries a sequence or an optional, and so is unrolled, but ";
    const std::string limit = "at most " + std::to_string(kMostTrips) + " trips are unrolled";
    if (most < 0 && !numbered) {
      return refuse(carries + "how often it runs is not known: " + limit,
                    "make the trip count a constant, or " + at_most);
    }
    const std::string times = std::to_string(most < 0 ? elements[0] : most);
    return refuse(carries + "runs " + times + " times: " + limit,
                  "carry a tensor and no sequence (a scanned output stacks what each trip makes), which stays a loop; "
                  "or, where its condition ends it earlier, " +
                      at_most);
  }

  std::vector<ir::Value*> state;
  for (size_t i = 0; i < carried; ++i) state.push_back(lookup(scope, node.input(static_cast<int>(i) + 2)));
  std::vector<std::vector<ir::Value*>> states{state};  // before each trip, and after the last
  std::vector<ir::Value*> active;                      // before each trip: it happens; null: surely
  std::vector<std::vector<ir::Value*>> scanned(static_cast<size_t>(body.output_size()) - 1 - carried);
  // True wherever the trip `t` happens, if all before did. False: surely not.
  ir::Value* going = nullptr;
  const auto goes = [&](int64_t t) {
    const int known = cond == nullptr ? 1 : known_bool(finder_, cond);
    if (known == 0 || (counted && t >= most)) return false;
    if (known < 0) going = both(scope, node, going, as_scalar(scope, node, cond, DType::kBool));
    if (!counted && trips != nullptr) going = both(scope, node, going, compare(scope, node, Op::kLess, t, trips));
    return true;
  };
  bool more = true;
  for (int64_t t = 0; more && t < most; ++t) {
    if (!(more = goes(t))) break;
    active.push_back(going);
    std::vector<ir::Value*> inputs{constant_i64(scope, t), cond == nullptr ? constant_bool(scope, true) : cond};
    inputs.insert(inputs.end(), state.begin(), state.end());
    std::vector<ir::Value*> outputs;
    if (!inline_graph(scope, node, body, base + "/" + std::to_string(t) + "/", inputs, &outputs) ||
        std::find(outputs.begin(), outputs.end(), &poison_) != outputs.end())
      return bind_failed(scope, node);
    cond = outputs[0];
    state.assign(outputs.begin() + 1, outputs.begin() + 1 + static_cast<ptrdiff_t>(carried));
    for (size_t k = 0; k < scanned.size(); ++k) scanned[k].push_back(outputs[1 + carried + k]);
    states.push_back(state);
  }
  more = more && goes(most);

  for (size_t t = active.size(); t-- > 0;) {
    for (size_t i = 0; active[t] != nullptr && i < carried; ++i) {
      state[i] = choose(scope, node, active[t], state[i], states[t][i]);
      if (state[i] == nullptr) return bind_failed(scope, node);
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
      return refuse("may run more often than the " + std::to_string(most) + " trips that are declared", "");
    ir::Value* ended = emit(scope, node, Op::kNot, pack<attrs::Unary>(attrs::UnaryT{}), {going});
    b->length = checked(scope, node, length_of(scope, *b), ended);
    if (b->length == nullptr) return bind_failed(scope, node);
  }
  for (int i = 0; i < node.output_size(); ++i) {
    const auto o = static_cast<size_t>(i);
    if (o < carried) {
      bind(scope, node, node.output(i), state[o]);
      continue;
    }
    if (node.output(i).empty()) continue;
    const std::vector<ir::Value*>& rows = scanned[o - carried];
    if (rows.empty() || going != nullptr)
      return refuse("stacks results over trips whose number is not known, beside a sequence", "");
    std::vector<ir::Value*> parts;
    for (ir::Value* v : rows) {
      parts.push_back(bundle(v) != nullptr
                          ? nullptr
                          : emit(scope, node, Op::kUnsqueeze, pack<attrs::Unsqueeze>(attrs::UnsqueezeT{}),
                                 {v, constant_i64(scope, std::vector<int64_t>{0})}));
    }
    attrs::ConcatT a;
    ir::Value* stacked = emit(scope, node, Op::kConcat, pack<attrs::Concat>(a), std::move(parts));
    bind(scope, node, node.output(i), stacked == nullptr ? &poison_ : stacked);
  }
}

}  // namespace vireo::importer
