#include "quant/int8/account.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>

#include "quant/int8/layer.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"

namespace vireo::quant {
namespace {

// Signal to noise of sums over all samples; not a number where nothing was compared, or all of it is 0. Minus infinity
// where values are so large that their squares are not finite.
double decibels(double signal, double noise) {
  if (signal == 0 && noise == 0) return std::numeric_limits<double>::quiet_NaN();
  if (!std::isfinite(signal) || !std::isfinite(noise)) return -std::numeric_limits<double>::infinity();
  return noise > 0 ? 10 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
}

// Copies of nodes beside them in a copied graph, one on what the one before makes.
class Twin {
 public:
  // Behind the twin of `last`.
  Twin(ir::Graph& graph, const ir::Node* last) : graph_(graph) {
    const auto next = std::next(node_of(last)->self);
    before_ = next == graph.nodes().end() ? nullptr : &*next;
  }

  // The node of the copied graph, by the value that it makes.
  ir::Node* node_of(const ir::Node* n) const { return graph_.value(n->out()->id)->producer; }
  std::vector<ir::Value*> inputs_of(const ir::Node* n) const { return node_of(n)->inputs; }
  ir::Value* coded(ir::Value* v, const ValueScale& scale) { return add_pair(graph_, v, scale, before_); }

  // `original` on the last value, which is its only operand that is no constant, or on these.
  void copy(const ir::Node* original) {
    std::vector<ir::Value*> inputs = inputs_of(original);
    for (ir::Value*& in : inputs) {
      if (in != nullptr && in->constant == nullptr) in = value;
    }
    copy(original, std::move(inputs));
  }
  void copy(const ir::Node* original, std::vector<ir::Value*> inputs) {
    const ir::Node* n = node_of(original);
    ir::Node* made = graph_.add_node(n->op, n->attrs, std::move(inputs), 1, before_);
    made->version = n->version;
    made->name = n->name + "_twin";
    made->out()->name = n->out()->name + "_twin";
    made->out()->type = n->out()->type;
    value = made->out();
  }

  ir::Value* value = nullptr;

 private:
  ir::Graph& graph_;
  ir::Node* before_ = nullptr;
};

// The result of `chain`, on which the functions behind it follow.
const ir::Node* last_of(const Plan& plan, size_t result, const ir::Node* end) {
  const std::vector<ir::Node*>& behind = plan.values[result].behind;
  return behind.empty() ? end : behind.back();
}
ir::Value* end_twin(Twin& twin, const Plan& plan, const Choice& choice, size_t result) {
  twin.value = twin.coded(twin.value, choice.scales[result]);
  for (const ir::Node* n : plan.values[result].behind) twin.copy(n);
  return twin.value;
}

// The layer once more beside itself, with its own operand, weights and result through codes. The decoded result.
// `weights`: those of the layer, which the quantized graph decodes from its codes.
ir::Value* quantized_twin(ir::Graph& graph, const Plan& plan, const Choice& choice, const Layer& layer,
                          ir::Value* weights) {
  Twin twin(graph, last_of(plan, layer.result, layer.chain.back()));
  for (const ir::Node* n : layer.chain) {
    std::vector<ir::Value*> inputs = twin.inputs_of(n);
    for (ir::Value*& in : inputs) {
      if (twin.value != nullptr && in != nullptr && in->constant == nullptr) in = twin.value;
    }
    if (n == layer.node) {
      inputs[0] = twin.coded(inputs[0], choice.scales[layer.input]);
      inputs[static_cast<size_t>(layer.weights)] = weights;
    }
    twin.copy(n, std::move(inputs));
  }
  return end_twin(twin, plan, choice, layer.result);
}

// The same of a product of two values.
ir::Value* quantized_pair_twin(ir::Graph& graph, const Plan& plan, const Choice& choice, const Pair& pair) {
  Twin twin(graph, last_of(plan, pair.result, pair.end));
  std::vector<ir::Value*> inputs = twin.inputs_of(pair.node);
  inputs[0] = twin.coded(inputs[0], choice.scales[pair.a]);
  inputs[1] = twin.coded(inputs[1], choice.scales[pair.b]);
  twin.copy(pair.node, std::move(inputs));
  for (const ir::Node* n = pair.node; n != pair.end;) {
    n = n->out()->uses.front().node;  // what is part of its result reads it alone
    twin.copy(n);
  }
  return end_twin(twin, plan, choice, pair.result);
}

// The sequence of a cell, or the last state that is read where that is not.
size_t compared_output(const Cell& cell) {
  if (cell.result != Cell::kNoValue) return 0;
  const ir::Value* last = cell.node->out(1);
  return last == nullptr || last->unused() ? 2 : 1;
}

// The same of a cell: a copy on codes, and the pair behind its sequence.
ir::Value* quantized_cell_twin(ir::Graph& graph, const Plan& plan, const Choice& choice, size_t index) {
  const Cell& cell = plan.cells[index];
  ir::Node* original = graph.value(cell.node->out(compared_output(cell))->id)->producer;
  const auto next = std::next(original->self);
  ir::Node* before = next == graph.nodes().end() ? nullptr : &*next;
  std::vector<ir::Value*> inputs = original->inputs;
  inputs[0] = add_pair(graph, inputs[0], choice.scales[cell.input], before);
  ir::Node* copy = graph.add_node(original->op, original->attrs, std::move(inputs), original->outputs.size(), before);
  copy->version = original->version;
  copy->name = original->name + "_twin";
  for (size_t o = 0; o < original->outputs.size(); ++o) {
    if (original->out(o) == nullptr) {
      graph.drop_output(copy, o);
      continue;
    }
    copy->out(o)->name = original->out(o)->name + "_twin";
    copy->out(o)->type = original->out(o)->type;
  }
  set_cell_codes(graph, copy, choice.cells[index], copy);
  if (cell.result == Cell::kNoValue) return copy->out(compared_output(cell));
  return add_pair(graph, copy->out(), choice.scales[cell.result], before);
}

// What a result is compared as: behind the functions of it, whose codes are chosen by what these lose.
const ir::Value* compared(const Plan& plan, size_t index) {
  const CodedValue& result = plan.values[index];
  return result.behind.empty() ? result.value : result.behind.back()->out();
}

// The largest magnitude over the median of channels, and which channel has it.
double spread_of_channels(const RangeObserver& range, size_t* channel) {
  std::vector<double> most;
  for (size_t c = 0; c < range.lows().size(); ++c)
    most.push_back(
        std::max(std::fabs(static_cast<double>(range.lows()[c])), std::fabs(static_cast<double>(range.highs()[c]))));
  if (most.size() < 2) return 1;
  *channel = static_cast<size_t>(std::max_element(most.begin(), most.end()) - most.begin());
  std::vector<double> sorted = most;
  std::sort(sorted.begin(), sorted.end());
  const double median = sorted[sorted.size() / 2];
  return median > 0 ? most[*channel] / median : 1;
}

double root_mean_square(const MomentsObserver& moments) {
  double sum = 0;
  for (size_t c = 0; c < moments.channels(); ++c) sum += moments.mean_square(c);
  return moments.channels() == 0 ? 0 : std::sqrt(sum / static_cast<double>(moments.channels()));
}

// What takes the bits of a value, in words; "" where nothing stands out.
std::string lost_to(const std::string& whose, const Statistics& s, int bits) {
  constexpr double kWide = 8, kFar = 30, kHuge = 1e18;  // squares of more leave float32
  char text[160];
  if (s.range.empty()) return "";
  if (s.range.low() == 0 && s.range.high() == 0) return whose + " is 0 for all samples: it never fires";
  if (s.range.low() == s.range.high()) return whose + " is the same for all samples";
  const double most =
      std::max(std::fabs(static_cast<double>(s.range.low())), std::fabs(static_cast<double>(s.range.high())));
  if (most > kHuge) {
    std::snprintf(text, sizeof(text), "%s reaches %.2g: look for a sample with a wrong number", whose.c_str(), most);
    return text;
  }
  size_t channel = 0;
  const double spread = spread_of_channels(s.range, &channel);
  if (spread >= kWide) {
    std::snprintf(text, sizeof(text), "channel %zu of %s reaches %.0f times the median: %d of %d bits idle in most",
                  channel, whose.c_str(), spread, static_cast<int>(std::log2(spread)), bits);
    return text;
  }
  const double usual = root_mean_square(s.moments);
  if (usual > 0 && most / usual >= kFar) {
    std::snprintf(text, sizeof(text), "the largest value of %s is %.0f times its root mean square", whose.c_str(),
                  most / usual);
    return text;
  }
  return "";
}

using Operands = std::vector<std::pair<const char*, size_t>>;  // whose, and where in Plan::values
std::string reason_for(const Plan& plan, const Choice& choice, const Operands& operands,
                       const std::map<uint32_t, Statistics>& statistics) {
  for (const auto& [whose, index] : operands) {
    if (index == Cell::kNoValue) continue;
    const auto found = statistics.find(plan.values[index].value->id);
    if (found == statistics.end()) continue;
    std::string why = lost_to(whose, found->second, dtype_bits(choice.scales[index].type));
    if (!why.empty()) return why;
  }
  return "";
}

// The sum of squares of `v`, computed right behind it.
ir::Value* sum_of_squares(ir::Graph& graph, ir::Value* v) {
  const auto next = v->producer == nullptr ? graph.nodes().begin() : std::next(v->producer->self);
  attrs::ReduceNormT norm;
  norm.keepdims = false;
  norm.norm = attrs::Norm::SumSquare;
  ir::Node* sum = graph.add_node(Op::kReduceNorm, pack<attrs::ReduceNorm>(norm), {v}, 1,
                                 next == graph.nodes().end() ? nullptr : &*next);
  sum->out()->name = v->name;
  sum->out()->type = {DType::kF32, {}};
  return sum->out();
}

// The same of what `b`, which is made later, is off by from `a`.
ir::Value* noise_between(ir::Graph& graph, ir::Value* a, ir::Value* b) {
  const auto next = b->producer == nullptr ? graph.nodes().begin() : std::next(b->producer->self);
  ir::Node* difference = graph.add_node(Op::kSub, pack<attrs::Binary>(attrs::BinaryT{}), {a, b}, 1,
                                        next == graph.nodes().end() ? nullptr : &*next);
  difference->out()->name = a->name;
  difference->out()->type = a->type;
  return sum_of_squares(graph, difference->out());
}

// Copies the nodes of `annotated` into `graph`, of which that was made: each behind the one that it was, so that values
// on both sides are needed at about the same time. What the copies make, by the value's id in `annotated`.
std::map<uint32_t, ir::Value*> copy_beside(const ir::Graph& annotated, ir::Graph& graph, size_t values_before) {
  std::map<uint32_t, ir::Value*> made;
  const auto first = graph.nodes().begin();
  ir::Node* before = first == graph.nodes().end() ? nullptr : &*first;
  for (const ir::Node& n : annotated.nodes()) {
    for (const ir::Value* v : n.outputs) {
      const ir::Node* was = v == nullptr || v->id > values_before ? nullptr : graph.value(v->id)->producer;
      if (was == nullptr) continue;
      const auto next = std::next(was->self);
      before = next == graph.nodes().end() ? nullptr : &*next;
    }
    std::vector<ir::Value*> inputs;
    for (const ir::Value* v : n.inputs) {
      if (v != nullptr && made.count(v->id) == 0)
        made[v->id] = v->constant == nullptr ? graph.value(v->id) : graph.add_constant(v->name, v->constant);
      inputs.push_back(v == nullptr ? nullptr : made[v->id]);
    }
    ir::Node* copy = graph.add_node(n.op, n.attrs, std::move(inputs), n.outputs.size(), before);
    copy->version = n.version;
    copy->name = n.name;
    for (const auto& body : n.bodies) copy->bodies.push_back(body->clone());
    for (size_t o = 0; o < n.outputs.size(); ++o) {
      if (n.out(o) == nullptr) {
        graph.drop_output(copy, o);
        continue;
      }
      copy->out(o)->name = n.out(o)->name;
      copy->out(o)->type = n.out(o)->type;
      made[n.out(o)->id] = copy->out(o);
    }
  }
  return made;
}

constexpr size_t kSums = 3;  // of a layer: its signal, its own noise, all noise

// Runs the sums of as many layers together as the ceiling lets be.
class Accountant {
 public:
  Accountant(const ir::Graph& graph, std::vector<const ir::Value*> values, Samples& samples, Evaluator& evaluator,
             const PassOptions& options)
      : graph_(graph),
        values_(std::move(values)),
        layers_(values_.size() / kSums),
        samples_(samples),
        evaluator_(evaluator),
        options_(options),
        sums(values_.size(), 0),
        compared(layers_, true) {}

  bool run(std::string* error) {
    const size_t samples = std::min(samples_.count(), options_.most_samples);
    for (size_t first = 0; first < layers_;) {
      size_t count = 0;
      const std::unique_ptr<PreparedGraph> program = prepare(first, &count, error);
      if (!error->empty()) return false;
      for (size_t s = 0; s < samples && program != nullptr; ++s) {
        if (options_.tell)
          options_.tell((static_cast<double>(first) + static_cast<double>(count * s) / static_cast<double>(samples)) /
                        static_cast<double>(layers_));
        std::vector<TensorView> seen;
        if (!program->run(samples_.read(s), &seen, error)) return false;
        for (size_t i = 0; i < seen.size(); ++i) {
          float x = 0;
          std::memcpy(&x, seen[i].bytes.data(), sizeof(x));
          sums[kSums * first + i] += static_cast<double>(x);
        }
      }
      if (program == nullptr) compared[first] = false;
      first += std::max<size_t>(count, 1);
    }
    return true;
  }

 private:
  // For the layers from `first` on; null where not even that one fits.
  std::unique_ptr<PreparedGraph> prepare(size_t first, size_t* count, std::string* error) {
    const std::vector<HostTensor> inputs = samples_.read(0);
    for (*count = std::min(layers_ - first, most_); *count != 0; *count /= 2) {
      const auto from = values_.begin() + static_cast<std::ptrdiff_t>(kSums * first);
      std::unique_ptr<PreparedGraph> program =
          prepare_values(graph_, {from, from + static_cast<std::ptrdiff_t>(kSums * *count)}, evaluator_, error);
      if (program == nullptr) return nullptr;
      const uint64_t needed = bytes_within(options_, 0, program.get(), inputs, error);
      if (!error->empty()) return nullptr;
      most_ = 2 * *count;
      if (fits(options_, 1, needed, 0)) return program;
    }
    return nullptr;
  }

  const ir::Graph& graph_;
  const std::vector<const ir::Value*> values_;
  const size_t layers_;
  Samples& samples_;
  Evaluator& evaluator_;
  const PassOptions& options_;
  size_t most_ = SIZE_MAX;  // layers of the next program: twice the last one's

 public:
  std::vector<double> sums;  // kSums of each layer
  std::vector<bool> compared;
};

}  // namespace

bool account(const ir::Graph& graph, const Plan& plan, const Choice& choice, const ir::Graph& annotated,
             const std::vector<ir::Value*>& decoded, const std::map<uint32_t, Statistics>& statistics, Samples& samples,
             Evaluator& evaluator, const PassOptions& options, std::vector<LayerAccount>* out, std::string* error) {
  const std::unique_ptr<ir::Graph> all_graphs = graph.clone();
  ir::Graph& g = *all_graphs;
  const std::map<uint32_t, ir::Value*> coded = copy_beside(annotated, g, graph.values().size());
  std::vector<const ir::Value*> sums;
  std::vector<LayerAccount> all;
  std::vector<const ir::Node*> nodes;
  const auto add = [&](const ir::Node* node, const ir::Value* v, ir::Value* twin, const ir::Value* accumulated,
                       uint64_t bytes, std::string why) {
    ir::Value* const reference = g.value(v->id);
    sums.push_back(sum_of_squares(g, reference));
    sums.push_back(noise_between(g, reference, twin));
    sums.push_back(noise_between(g, reference, coded.at(accumulated->id)));
    LayerAccount a;
    a.name = layer_name(*node);
    a.op = op_name(node->op);
    a.bytes = bytes;
    a.why = std::move(why);
    all.push_back(std::move(a));
    nodes.push_back(node);
  };
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const Layer& layer = plan.layers[i];
    const ir::Value* v = compared(plan, layer.result);
    const ir::Value* const weights = layer.node->in(static_cast<size_t>(layer.weights));  // decoded
    add(layer.node, v, quantized_twin(g, plan, choice, layer, coded.at(weights->id)),
        v == plan.values[layer.result].value ? decoded[layer.result] : v,
        static_cast<uint64_t>(weights->producer->in(0)->constant->size_bytes()),
        reason_for(plan, choice, {{"its input", layer.input}, {"its result", layer.result}}, statistics));
  }
  for (const Pair& pair : plan.pairs) {
    const ir::Value* v = compared(plan, pair.result);
    const Operands operands = {
        {"its left operand", pair.a}, {"its right operand", pair.b}, {"its result", pair.result}};
    add(pair.node, v, quantized_pair_twin(g, plan, choice, pair),
        v == plan.values[pair.result].value ? decoded[pair.result] : v, 0,
        reason_for(plan, choice, operands, statistics));
  }
  for (size_t i = 0; i < plan.cells.size(); ++i) {
    const Cell& cell = plan.cells[i];
    const ir::Value* v = cell.node->out(compared_output(cell));
    add(cell.node, v, quantized_cell_twin(g, plan, choice, i), cell.result == Cell::kNoValue ? v : decoded[cell.result],
        choice.cells[i].bytes(),
        reason_for(plan, choice, {{"its input", cell.input}, {"its result", cell.result}}, statistics));
  }
  Accountant accountant(g, std::move(sums), samples, evaluator, options);
  if (!accountant.run(error)) return false;
  std::map<const ir::Node*, size_t> found;
  for (size_t i = 0; i < all.size(); ++i) {
    const double* const of = accountant.sums.data() + kSums * i;
    all[i].own_db = decibels(of[0], of[1]);
    all[i].accumulated_db = decibels(of[0], of[2]);
    all[i].compared = accountant.compared[i];
    found[nodes[i]] = i;
  }
  for (const ir::Node& n : annotated.nodes()) {
    const auto at = found.find(&n);
    if (at != found.end()) out->push_back(std::move(all[at->second]));
  }
  return true;
}

}  // namespace vireo::quant
