#include "quant/int8/wide.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "quant/int8/annotate.h"
#include "quant/int8/layer.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/traits.h"

namespace vireo::quant {
namespace {

constexpr size_t kNoiseSamples = 4;
constexpr double kWideElements = 1.0 / 3;  // most of all elements that take 16 bits
constexpr double kLeastNoise = 0.01;       // least share of an exit's noise that pays for 16 bits
constexpr double kNoiseOfElements = 2;     // least ratio of a value's share of the noise to its share of the elements
constexpr double kMostWork = 12;           // products run for single values, in runs of the model
constexpr double kTrunkNoise = 0.2;        // least share of an exit's noise from values that were not asked for

// Whether `v` goes to outputs of the graph only, by nodes that move, join or compute element by element. `joined`: two
// values met on the way.
bool leaves(const ir::Value& from, bool* joined) {
  if (from.unused()) return false;
  std::vector<const ir::Value*> open = {&from};
  std::set<const ir::Value*> seen;  // several ways may lead to one value
  while (!open.empty()) {
    const ir::Value* const v = open.back();
    open.pop_back();
    if (!seen.insert(v).second) continue;
    for (const ir::Use& u : v->uses) {
      const ir::Node& n = *u.node;
      if (!n.bodies.empty() || n.out() == nullptr) return false;
      const bool joins = n.op == Op::kConcat || is_elementwise(n.op);
      if (!joins && !moves_elements(n.op)) return false;
      const auto computed = std::count_if(n.inputs.begin(), n.inputs.end(),
                                          [](const ir::Value* in) { return in != nullptr && in->constant == nullptr; });
      if (joins && computed > 1) *joined = true;
      for (const ir::Value* out : n.outputs) {
        if (out != nullptr && !out->unused()) open.push_back(out);
      }
    }
  }
  return true;
}

// Copies of what follows from values in codes, behind the nodes of a graph.
class Twins {
 public:
  Twins(ir::Graph& graph, const Plan& plan, const std::vector<ValueScale>& scales, const std::vector<size_t>& exits)
      : graph_(graph), plan_(plan), scales_(scales) {
    for (ir::Node& n : graph.nodes()) nodes_.push_back(&n);
    for (const size_t e : exits) exits_.push_back(value(e));
  }

  // The squared noise at each exit where the values `coded` alone are in codes; null: they do not reach it.
  std::vector<ir::Value*> noise(const std::vector<size_t>& coded) {
    std::map<const ir::Value*, ir::Value*> twin;
    std::map<const ir::Node*, std::vector<size_t>> made;
    const auto code = [&](size_t i) {
      ir::Value* const v = value(i);
      ir::Value*& t = twin[v];
      t = add_pair(graph_, t == nullptr ? v : t, scales_[i], nullptr);
    };
    for (const size_t i : coded) {
      const ir::Node* producer = value(i)->producer;
      if (producer == nullptr) {
        code(i);
      } else {
        made[producer].push_back(i);
      }
    }
    for (ir::Node* n : nodes_) {
      copy(*n, &twin);
      const auto found = made.find(n);
      if (found == made.end()) continue;
      for (const size_t i : found->second) code(i);
    }
    std::vector<ir::Value*> out;
    for (ir::Value* e : exits_) {
      const auto found = twin.find(e);
      out.push_back(found == twin.end() ? nullptr : squared_difference(e, found->second));
    }
    return out;
  }

 private:
  ir::Value* value(size_t i) { return graph_.value(plan_.values[i].value->id); }

  void copy(const ir::Node& n, std::map<const ir::Value*, ir::Value*>* twin) {
    std::vector<ir::Value*> inputs = n.inputs;
    bool changed = false;
    for (ir::Value*& v : inputs) {
      const auto found = twin->find(v);
      if (found == twin->end()) continue;
      v = found->second;
      changed = true;
    }
    if (!changed || !n.bodies.empty()) return;
    ir::Node* made = graph_.add_node(n.op, n.attrs, std::move(inputs), n.outputs.size());
    made->version = n.version;
    for (size_t o = 0; o < n.outputs.size(); ++o) {
      if (n.out(o) == nullptr) {
        graph_.drop_output(made, o);
        continue;
      }
      made->out(o)->name = n.out(o)->name;  // by which an error speaks of it
      made->out(o)->type = n.out(o)->type;
      (*twin)[n.out(o)] = made->out(o);
    }
  }

  ir::Value* squared_difference(ir::Value* a, ir::Value* b) {
    ir::Node* difference = graph_.add_node(Op::kSub, pack<attrs::Binary>(attrs::BinaryT{}), {a, b}, 1);
    difference->out()->name = a->name;
    difference->out()->type = a->type;
    attrs::ReduceNormT norm;
    norm.keepdims = false;
    norm.norm = attrs::Norm::SumSquare;
    ir::Node* sum = graph_.add_node(Op::kReduceNorm, pack<attrs::ReduceNorm>(norm), {difference->out()}, 1);
    sum->out()->name = a->name;
    sum->out()->type = {DType::kF32, {}};
    return sum->out();
  }

  ir::Graph& graph_;
  const Plan& plan_;
  const std::vector<ValueScale>& scales_;
  std::vector<ir::Node*> nodes_;  // of the graph as it was
  std::vector<ir::Value*> exits_;
};

// Products that stand behind each value, in elements of results times weights of a row.
class Work {
 public:
  Work(const Plan& plan, const std::map<uint32_t, Statistics>& statistics) : plan_(plan) {
    for (const Layer& l : plan.layers) {
      const auto found = statistics.find(plan.values[l.result].value->id);
      if (found == statistics.end()) continue;
      const double w = static_cast<double>(found->second.range.count()) * static_cast<double>(weights_of_row(l));
      of_node_[l.node] = w;
      all_ += w;
    }
  }
  double all() const { return all_; }
  double behind(const ir::Value& v) {
    seen_.clear();
    double sum = 0;
    std::vector<const ir::Value*> open = {&v};
    while (!open.empty()) {
      const ir::Value* const at = open.back();
      open.pop_back();
      for (const ir::Use& u : at->uses) {
        if (!seen_.insert(u.node).second) continue;
        const auto found = of_node_.find(u.node);
        if (found != of_node_.end()) sum += found->second;
        for (const ir::Value* out : u.node->outputs) {
          if (out != nullptr) open.push_back(out);
        }
      }
    }
    return sum;
  }
  // How many of `exits` follow from the value that behind() was asked for last.
  size_t reached(const std::vector<size_t>& exits) const {
    return static_cast<size_t>(std::count_if(
        exits.begin(), exits.end(), [&](size_t e) { return seen_.count(plan_.values[e].value->producer) != 0; }));
  }

 private:
  const Plan& plan_;
  std::map<const ir::Node*, double> of_node_;
  std::set<const ir::Node*> seen_;
  double all_ = 0;
};

// Each value's part of the elements of all; 0 where it was not observed.
std::vector<double> element_shares(const Plan& plan, const std::map<uint32_t, Statistics>& statistics) {
  std::vector<double> shares;
  double sum = 0;
  for (const CodedValue& c : plan.values) {
    const auto found = statistics.find(c.value->id);
    shares.push_back(found == statistics.end() ? 0 : static_cast<double>(found->second.range.count()));
    sum += shares.back();
  }
  for (double& s : shares) s /= std::max(sum, 1.0);
  return shares;
}

// The values to ask for, from the outputs back as far as it pays: exits, and what no more than half of them follow
// from. The others are the trunk: to run each of their products anew takes longer than all else.
std::vector<size_t> candidates(const Plan& plan, const std::vector<size_t>& exits, const std::vector<bool>& may,
                               const std::vector<double>& elements, const std::map<uint32_t, Statistics>& statistics) {
  Work work(plan, statistics);
  std::vector<size_t> out;
  double spent = 0;
  for (size_t i = plan.values.size(); i-- > 0;) {
    if (!may[i] || elements[i] == 0 || elements[i] > kWideElements) continue;
    const double needed = work.behind(*plan.values[i].value);
    const bool is_exit = std::find(exits.begin(), exits.end(), i) != exits.end();
    if (!is_exit && (work.reached(exits) == 0 || 2 * work.reached(exits) > exits.size())) continue;
    spent += needed;
    if (spent > kMostWork * work.all()) break;
    out.push_back(i);
  }
  return out;
}

}  // namespace

std::vector<size_t> joined_exits(const Plan& plan) {
  std::set<size_t> found;
  for (const Layer& l : plan.layers) {
    bool joined = false;
    if (leaves(*plan.values[l.result].value, &joined) && joined) found.insert(l.result);
  }
  return {found.begin(), found.end()};
}

std::vector<size_t> worth_16_bits(std::vector<NoiseShare> shares) {
  const auto gain = [](const NoiseShare& s) { return s.elements > 0 ? s.noise / s.elements : 0; };
  std::stable_sort(shares.begin(), shares.end(),
                   [&](const NoiseShare& a, const NoiseShare& b) { return gain(a) > gain(b); });
  std::vector<size_t> out;
  double elements = 0;
  for (const NoiseShare& s : shares) {
    if (s.noise < kLeastNoise || gain(s) < kNoiseOfElements || elements + s.elements > kWideElements) continue;
    elements += s.elements;
    out.push_back(s.value);
  }
  return out;
}

std::vector<size_t> nearest_of_trunk(const std::vector<double>& elements, const std::vector<bool>& open,
                                     const std::vector<size_t>& wide) {
  double sum = 0;
  for (const size_t i : wide) sum += elements[i];
  std::vector<size_t> out;
  for (size_t i = elements.size(); i-- > 0;) {
    if (!open[i] || elements[i] == 0) continue;
    sum += elements[i];
    if (sum > kWideElements) break;
    out.push_back(i);
  }
  return out;
}

bool find_wide_values(const ir::Graph& graph, const Plan& plan, const std::vector<ValueScale>& scales,
                      const std::vector<bool>& may, const std::map<uint32_t, Statistics>& statistics, Samples& samples,
                      Evaluator& evaluator, const PassOptions& options, std::vector<size_t>* wide, std::string* error) {
  const std::vector<size_t> exits = joined_exits(plan);
  if (exits.empty()) return true;
  const std::vector<double> elements = element_shares(plan, statistics);
  const std::vector<size_t> asked = candidates(plan, exits, may, elements, statistics);
  const std::unique_ptr<ir::Graph> twins = graph.clone();
  Twins made(*twins, plan, scales, exits);
  std::vector<Tap> taps;
  std::vector<std::pair<size_t, size_t>> of_tap;  // which of `asked` (its size: all values), which exit
  const auto add = [&](size_t of, const std::vector<size_t>& coded) {
    const std::vector<ir::Value*> noise = made.noise(coded);
    for (size_t e = 0; e < noise.size(); ++e) {
      if (noise[e] == nullptr) continue;
      taps.push_back({noise[e], 0, sizeof(double)});
      of_tap.emplace_back(of, e);
    }
  };
  for (size_t i = 0; i < asked.size(); ++i) add(i, {asked[i]});
  std::vector<size_t> all;
  for (size_t i = 0; i < plan.values.size(); ++i) all.push_back(i);
  add(asked.size(), all);

  std::vector<std::vector<double>> noise(asked.size() + 1, std::vector<double>(exits.size(), 0));
  const auto take = [&](size_t first, size_t, const std::vector<TensorView>& values, std::string*) {
    for (size_t i = 0; i < values.size(); ++i) {
      float x = 0;
      std::memcpy(&x, values[i].bytes.data(), sizeof(x));
      noise[of_tap[first + i].first][of_tap[first + i].second] += static_cast<double>(x);
    }
    return true;
  };
  PassOptions p = options;
  p.most_samples = kNoiseSamples;
  if (!for_each_sample(*twins, taps, samples, evaluator, p, take, error)) return false;
  std::vector<NoiseShare> shares;
  for (size_t i = 0; i < asked.size(); ++i) {
    NoiseShare s{asked[i], elements[asked[i]], 0};
    for (size_t e = 0; e < exits.size(); ++e) {
      if (noise.back()[e] > 0) s.noise = std::max(s.noise, noise[i][e] / noise.back()[e]);
    }
    shares.push_back(s);
  }
  double trunk_noise = 0;  // noise of single values adds up
  for (size_t e = 0; e < exits.size(); ++e) {
    double rest = noise.back()[e];
    for (size_t i = 0; i < asked.size(); ++i) rest -= noise[i][e];
    if (noise.back()[e] > 0) trunk_noise = std::max(trunk_noise, rest / noise.back()[e]);
  }
  *wide = worth_16_bits(std::move(shares));
  if (trunk_noise < kTrunkNoise) return true;
  std::vector<bool> open = may;
  for (const size_t i : asked) open[i] = false;
  const std::vector<size_t> trunk = nearest_of_trunk(elements, open, *wide);
  wide->insert(wide->end(), trunk.begin(), trunk.end());
  return true;
}

}  // namespace vireo::quant
