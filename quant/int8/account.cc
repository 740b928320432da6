#include "quant/int8/account.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <map>

#include "quant/int8/layer.h"

namespace vireo::quant {
namespace {

// Sums over all samples.
struct SignalAndNoise {
  double signal = 0, noise = 0;

  void add(const HostTensor& reference, const HostTensor& other) {
    const auto* r = reinterpret_cast<const float*>(reference.bytes.data());
    const auto* x = reinterpret_cast<const float*>(other.bytes.data());
    const size_t count = std::min(reference.bytes.size(), other.bytes.size()) / sizeof(float);
    for (size_t i = 0; i < count; ++i) {
      const double d = static_cast<double>(x[i]) - static_cast<double>(r[i]);
      signal += static_cast<double>(r[i]) * static_cast<double>(r[i]);
      noise += d * d;
    }
  }
  double db() const {  // not a number where nothing was compared, or all of it is 0
    if (signal == 0 && noise == 0) return std::numeric_limits<double>::quiet_NaN();
    return noise > 0 ? 10 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
  }
};

// The layer once more beside itself, with its own operand, weights and result through codes. The decoded result.
ir::Value* quantized_twin(ir::Graph& graph, const Plan& plan, const Choice& choice, size_t index) {
  const Layer& layer = plan.layers[index];
  const std::vector<ir::Node*>& behind = plan.values[layer.result].behind;
  // The nodes of a copied graph, by the values that they make.
  const auto twin_of = [&](const ir::Node* n) { return graph.value(n->out()->id)->producer; };
  const ir::Node* end = twin_of(behind.empty() ? layer.chain.back() : behind.back());
  const auto next = std::next(end->self);
  ir::Node* before = next == graph.nodes().end() ? nullptr : &*next;
  ir::Value* v = nullptr;
  // `original` on `v`, its only operand that is no constant.
  const auto copy_of = [&](const ir::Node* original, std::vector<ir::Value*> inputs) {
    const ir::Node* n = twin_of(original);
    for (ir::Value*& in : inputs) {
      if (v != nullptr && in != nullptr && in->constant == nullptr) in = v;
    }
    ir::Node* copy = graph.add_node(n->op, n->attrs, std::move(inputs), 1, before);
    copy->version = n->version;
    copy->name = n->name + "_twin";
    copy->out()->name = n->out()->name + "_twin";
    copy->out()->type = n->out()->type;
    return copy->out();
  };
  for (const ir::Node* original : layer.chain) {
    std::vector<ir::Value*> inputs = twin_of(original)->inputs;
    if (original == layer.node) {
      inputs[0] = add_pair(graph, inputs[0], choice.scales[layer.input], before);
      inputs[static_cast<size_t>(layer.weights)] = add_weights(graph, layer, choice.weights[index], before);
    }
    v = copy_of(original, std::move(inputs));
  }
  v = add_pair(graph, v, choice.scales[layer.result], before);
  for (const ir::Node* original : behind) v = copy_of(original, twin_of(original)->inputs);
  return v;
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

// What a layer's result is compared as: behind the functions of it, whose codes are chosen by what these lose.
const ir::Value* compared(const Plan& plan, const Layer& layer) {
  const CodedValue& result = plan.values[layer.result];
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
  constexpr double kWide = 8, kFar = 30;
  char text[160];
  if (s.range.empty()) return "";
  if (s.range.low() == 0 && s.range.high() == 0) return whose + " is 0 for all samples: it never fires";
  if (s.range.low() == s.range.high()) return whose + " is the same for all samples";
  size_t channel = 0;
  const double spread = spread_of_channels(s.range, &channel);
  if (spread >= kWide) {
    std::snprintf(text, sizeof(text), "channel %zu of %s reaches %.0f times the median: %d of %d bits idle in most",
                  channel, whose.c_str(), spread, static_cast<int>(std::log2(spread)), bits);
    return text;
  }
  const double most =
      std::max(std::fabs(static_cast<double>(s.range.low())), std::fabs(static_cast<double>(s.range.high())));
  const double usual = root_mean_square(s.moments);
  if (usual > 0 && most / usual >= kFar) {
    std::snprintf(text, sizeof(text), "the largest value of %s is %.0f times its root mean square", whose.c_str(),
                  most / usual);
    return text;
  }
  return "";
}

std::string reason_for(const Plan& plan, const Choice& choice, size_t input, size_t result,
                       const std::map<uint32_t, Statistics>& statistics) {
  for (const auto& [whose, index] : {std::make_pair("its input", input), std::make_pair("its result", result)}) {
    if (index == Cell::kNoValue) continue;
    const auto found = statistics.find(plan.values[index].value->id);
    if (found == statistics.end()) continue;
    std::string why = lost_to(whose, found->second, dtype_bits(choice.scales[index].type));
    if (!why.empty()) return why;
  }
  return "";
}

// Both programs for the layers from `first` on, as many as the ceiling lets be; none: not even one fits.
struct Lot {
  std::unique_ptr<PreparedGraph> twins, quantized;
  size_t count = 0;
};

class Accountant {
 public:
  Accountant(const ir::Graph& twins, const ir::Graph& annotated, std::vector<const ir::Value*> pairs,
             std::vector<const ir::Value*> decoded, Samples& samples, Evaluator& evaluator, const PassOptions& options)
      : twins_(twins),
        annotated_(annotated),
        pairs_(std::move(pairs)),
        decoded_(std::move(decoded)),
        samples_(samples),
        evaluator_(evaluator),
        options_(options),
        own(decoded_.size()),
        accumulated(decoded_.size()),
        compared(decoded_.size(), true) {}

  bool run(std::string* error) {
    const size_t all = decoded_.size(), samples = std::min(samples_.count(), options_.most_samples);
    for (size_t first = 0; first < all;) {
      Lot lot;
      if (!prepare(first, &lot, error)) return false;
      for (size_t s = 0; s < samples && lot.count != 0; ++s) {
        if (options_.tell)
          options_.tell(
              (static_cast<double>(first) + static_cast<double>(lot.count * s) / static_cast<double>(samples)) /
              static_cast<double>(all));
        if (!compare(s, first, lot, error)) return false;
      }
      if (lot.count == 0) compared[first] = false;
      first += std::max<size_t>(lot.count, 1);
    }
    return true;
  }

 private:
  bool prepare(size_t first, Lot* lot, std::string* error) {
    const std::vector<HostTensor> inputs = samples_.read(0);
    if (least_ == 0) {
      least_ = prepare(decoded_.size() - 1, 1, inputs, lot, error);
      if (least_ == 0) return false;
    }
    for (size_t count = std::min(decoded_.size() - first, most_); count != 0; count /= 2) {
      *lot = {};
      const uint64_t needed = prepare(first, count, inputs, lot, error);
      if (needed == 0) return false;
      most_ = 2 * count;
      if (fits(options_, count, needed, least_)) return true;
    }
    *lot = {};
    return true;
  }

  // What both programs for `count` layers take; 0 on failure.
  uint64_t prepare(size_t first, size_t count, const std::vector<HostTensor>& inputs, Lot* lot, std::string* error) {
    const auto from = static_cast<std::ptrdiff_t>(first), to = static_cast<std::ptrdiff_t>(first + count);
    lot->count = count;
    lot->twins = prepare_values(twins_, {pairs_.begin() + 2 * from, pairs_.begin() + 2 * to}, evaluator_, error);
    if (lot->twins == nullptr) return 0;
    lot->quantized = prepare_values(annotated_, {decoded_.begin() + from, decoded_.begin() + to}, evaluator_, error);
    if (lot->quantized == nullptr) return 0;
    const uint64_t needed = lot->twins->bytes(inputs, error) + lot->quantized->bytes(inputs, error);
    return error->empty() ? needed : 0;
  }

  bool compare(size_t sample, size_t first, const Lot& lot, std::string* error) {
    const std::vector<HostTensor> inputs = samples_.read(sample);
    std::vector<HostTensor> twins, quantized;
    if (!lot.twins->run(inputs, &twins, error) || !lot.quantized->run(inputs, &quantized, error)) return false;
    for (size_t i = 0; i < lot.count; ++i) {
      own[first + i].add(twins[2 * i], twins[2 * i + 1]);
      accumulated[first + i].add(twins[2 * i], quantized[i]);
    }
    return true;
  }

  const ir::Graph &twins_, &annotated_;
  const std::vector<const ir::Value*> pairs_, decoded_;
  Samples& samples_;
  Evaluator& evaluator_;
  const PassOptions& options_;
  uint64_t least_ = 0;      // what one layer takes
  size_t most_ = SIZE_MAX;  // layers of the next lot: twice the last one's

 public:
  std::vector<SignalAndNoise> own, accumulated;  // of each layer
  std::vector<bool> compared;
};

}  // namespace

bool account(const ir::Graph& graph, const Plan& plan, const Choice& choice, const ir::Graph& annotated,
             const std::vector<ir::Value*>& decoded, const std::map<uint32_t, Statistics>& statistics, Samples& samples,
             Evaluator& evaluator, const PassOptions& options, std::vector<LayerAccount>* out, std::string* error) {
  const std::unique_ptr<ir::Graph> twins = graph.clone();
  std::vector<const ir::Value*> pairs, results;
  std::vector<LayerAccount> all;
  std::vector<const ir::Node*> nodes;
  const auto add = [&](const ir::Node* node, const ir::Value* v, ir::Value* twin, const ir::Value* accumulated,
                       uint64_t bytes, std::string why) {
    pairs.push_back(twins->value(v->id));
    pairs.push_back(twin);
    results.push_back(accumulated);
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
    const ir::Value* v = compared(plan, layer);
    add(layer.node, v, quantized_twin(*twins, plan, choice, i),
        v == plan.values[layer.result].value ? decoded[layer.result] : v,
        choice.weights[i].codes.size() * static_cast<size_t>(choice.weights[i].bits) / 8,
        reason_for(plan, choice, layer.input, layer.result, statistics));
  }
  for (size_t i = 0; i < plan.cells.size(); ++i) {
    const Cell& cell = plan.cells[i];
    const ir::Value* v = cell.node->out(compared_output(cell));
    add(cell.node, v, quantized_cell_twin(*twins, plan, choice, i),
        cell.result == Cell::kNoValue ? v : decoded[cell.result], choice.cells[i].bytes(),
        reason_for(plan, choice, cell.input, cell.result, statistics));
  }
  Accountant accountant(*twins, annotated, std::move(pairs), std::move(results), samples, evaluator, options);
  if (!accountant.run(error)) return false;
  std::map<const ir::Node*, size_t> found;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].own_db = accountant.own[i].db();
    all[i].accumulated_db = accountant.accumulated[i].db();
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
