#include "quant/repair/equalise.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "quant/int8/layer.h"
#include "quant/repair/rounding.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::quant {
namespace {

constexpr double kMostFactor = 1e4;  // the largest over the smallest, at most its square
constexpr int kMostRounds = 20;
constexpr double kSettled = 1.01;     // factors nearer to 1 change nothing more
constexpr double kWorthwhile = 0.95;  // a smaller gain is not worth other weights than the model's

// A factor on each channel before `n` is the same factor behind it.
bool passes_factors(const ir::Node& n) {
  switch (n.op) {
    case Op::kRelu:
    case Op::kMaxPool:
    case Op::kAveragePool:
    case Op::kGlobalAveragePool:
      return true;
    default:
      return false;
  }
}

// The layers that read `v`, through what passes factors; empty where anything else reads it.
std::vector<Layer*> readers_of(Plan& plan, const ir::Value* v) {
  while (v->one_use() && v->uses.size() == 1 && passes_factors(*v->uses[0].node)) v = v->uses[0].node->out();
  std::vector<Layer*> readers;
  for (const ir::Use& use : v->uses) {
    const auto found = std::find_if(plan.layers.begin(), plan.layers.end(),
                                    [&](const Layer& l) { return l.node == use.node && use.input == 0; });
    if (found == plan.layers.end()) return {};
    readers.push_back(&*found);
  }
  return v->output_uses == 0 ? readers : std::vector<Layer*>{};
}

double largest_of(const double* w, int64_t count) {
  double most = 0;
  for (int64_t i = 0; i < count; ++i) most = std::max(most, std::fabs(w[i]));
  return most;
}

// A layer's weights by the channel that they read.
class ReadChannels {
 public:
  ReadChannels(const Layer& layer, int64_t channels) : rows_(weights_of(layer)) {
    const int64_t groups = groups_of(layer);
    depthwise_ = groups > 1 && groups == channels && rows_.channels == channels;
    if (groups > 1 && !depthwise_) return;
    if (!depthwise_ && rows_.per_channel % channels != 0) return;
    taps_ = depthwise_ ? rows_.per_channel : rows_.per_channel / channels;
    // A matrix has one weight for each channel; a window has its taps behind the channel.
    good_ = layer.node->op == Op::kConv || taps_ == 1;
  }
  bool good() const { return good_; }
  bool depthwise() const { return depthwise_; }
  int64_t taps() const { return taps_; }
  const WeightRows& rows() const { return rows_; }

  double largest(int64_t channel) const {
    double most = 0;
    each(channel, [&](size_t at) { most = std::max(most, std::fabs(rows_.values[at])); });
    return most;
  }
  double energy(int64_t channel) const {
    double sum = 0;
    each(channel, [&](size_t at) { sum += rows_.values[at] * rows_.values[at]; });
    return sum;
  }
  void scale(int64_t channel, double factor) {
    each(channel, [&](size_t at) { rows_.values[at] *= factor; });
  }
  // sum over rows of (its largest weight, each times its channel's factor)^2; one scale for all: the largest of all.
  double squared_steps(const std::vector<double>& factors, bool per_channel) const {
    double sum = 0, all = 0;
    for (int64_t row = 0; row < rows_.channels; ++row) {
      double most = 0;
      for (int64_t i = 0; i < rows_.per_channel; ++i) {
        const auto channel = static_cast<size_t>(depthwise_ ? row : i / taps_);
        most = std::max(most, std::fabs(rows_.row(row)[i]) * factors[channel]);
      }
      sum += most * most;
      all = std::max(all, most);
    }
    return per_channel ? sum : all * all * static_cast<double>(rows_.channels);
  }

 private:
  template <class F>
  void each(int64_t channel, const F& f) const {
    const int64_t first = depthwise_ ? channel : 0, last = depthwise_ ? channel + 1 : rows_.channels;
    for (int64_t row = first; row < last; ++row) {
      const int64_t at = row * rows_.per_channel + (depthwise_ ? 0 : channel * taps_);
      for (int64_t t = 0; t < taps_; ++t) f(static_cast<size_t>(at + t));
    }
  }

  WeightRows rows_;
  int64_t taps_ = 1;
  bool depthwise_ = false, good_ = false;
};

// The gains and offsets of a normalisation along the last axis; null where it has none that take factors.
bool takes_factors(const ir::Node& n, int64_t channels) {
  const bool layer_norm = n.op == Op::kLayerNormalization;
  if (!layer_norm && n.op != Op::kRMSNormalization) return false;
  for (size_t i = 1; i < n.inputs.size(); ++i) {
    const ir::Value* v = n.in(i);
    if (v == nullptr) continue;
    if (v->constant == nullptr || v->type.dtype != DType::kF32 || v->constant->tensor.count() != channels) return false;
  }
  return n.in(1) != nullptr && (n.out(1) == nullptr || n.out(1)->unused());
}

// Largest magnitude and mean square of each channel of a value.
struct Channels {
  std::vector<double> most, square;
};
using ChannelsOfValues = std::map<const ir::Value*, Channels>;

// Values whose channels take the same factors: one, or what sums tie together (a residual stream).
struct FactorSite {
  std::vector<const ir::Value*> values;
  std::vector<Layer*> makers;  // products...
  ir::Node* norm = nullptr;    // ... or a normalisation
  std::vector<Layer*> readers;
};

bool is_sum_of_values(const ir::Node& n) {
  if (n.op != Op::kAdd || n.in(0)->constant != nullptr || n.in(1)->constant != nullptr) return false;
  return n.in(0)->type.shape == n.out()->type.shape && n.in(1)->type.shape == n.out()->type.shape;
}

// Follows factors from a layer's result through sums and what passes them, in both directions.
class Stream {
 public:
  explicit Stream(Plan& plan) {
    for (Layer& l : plan.layers) {
      makers_[l.chain.back()->out()] = &l;
      readers_[l.node] = &l;
    }
  }

  // False: something reads or makes a value that takes no factors.
  bool follow(const Layer& from, FactorSite* site) {
    seen_.clear();
    open_.assign(1, from.chain.back()->out());
    while (!open_.empty()) {
      const ir::Value* v = open_.back();
      open_.pop_back();
      if (!seen_.insert(v).second) continue;
      site->values.push_back(v);
      if (v->output_uses != 0 || !made(*v, site)) return false;
      for (const ir::Use& u : v->uses) {
        if (!read(u, site)) return false;
      }
    }
    return !site->readers.empty();
  }

 private:
  bool made(const ir::Value& v, FactorSite* site) {
    const auto found = makers_.find(&v);
    if (found != makers_.end()) {
      Layer& l = *found->second;
      site->makers.push_back(&l);
      return std::all_of(l.chain.begin(), l.chain.end(),
                         [&](const ir::Node* n) { return n == l.node || n == l.sum || passes_factors(*n); });
    }
    const ir::Node* n = v.producer;
    if (n == nullptr || (!passes_factors(*n) && !is_sum_of_values(*n))) return false;
    open_.insert(open_.end(), n->inputs.begin(), n->inputs.end());
    return true;
  }

  bool read(const ir::Use& use, FactorSite* site) {
    const auto found = readers_.find(use.node);
    if (found != readers_.end() && use.input == 0) {
      site->readers.push_back(found->second);
      return true;
    }
    if (!passes_factors(*use.node) && !is_sum_of_values(*use.node)) return false;
    open_.push_back(use.node->out());
    return true;
  }

  std::map<const ir::Value*, Layer*> makers_;
  std::map<const ir::Node*, Layer*> readers_;
  std::set<const ir::Value*> seen_;
  std::vector<const ir::Value*> open_;
};

class SiteOfFactors {
 public:
  SiteOfFactors(ir::Graph& graph, Plan& plan, const FactorSite& site, ChannelsOfValues* channels, bool per_channel)
      : graph_(graph), plan_(plan), site_(site), known_(*channels), per_channel_(per_channel) {}

  // The gain in decibels; 0: nothing was changed.
  double equalise() {
    if (!look()) return 0;
    const std::vector<double> ones(static_cast<size_t>(channels_), 1);
    const double before = cost(ones);
    double least = before * kWorthwhile;
    std::vector<double> best;
    for (const std::vector<double>& factors : candidates()) {
      const double now = cost(factors);
      if (!(now < least)) continue;
      least = now;
      best = factors;
    }
    if (best.empty()) return 0;
    apply(best);
    return 10 * std::log10(before / least);
  }

  // Applies the paper's factors; the largest of them, or of their inverses.
  double make_even() {
    if (!look()) return 1;
    const std::vector<double> s = even_factors();
    double most = 1;
    for (const double f : s) most = std::max({most, f, 1 / f});
    apply(s);
    return most;
  }

 private:
  // What is known of the values and of what reads them; false: too little, or they take no factors.
  bool look() {
    for (const ir::Value* v : site_.values) {
      const auto found = known_.find(v);
      if (found != known_.end()) coded_.push_back(&found->second);
    }
    if (coded_.empty()) return false;
    channels_ = static_cast<int64_t>(coded_[0]->most.size());
    if (channels_ < 2 || !fits()) return false;
    for (size_t c = 0; c < static_cast<size_t>(channels_); ++c) {
      double most = 0, r = 0, energy = 0;
      for (const Channels* v : coded_) most += v->most[c] / std::max(largest_of(v->most.data(), channels_), 1e-30);
      for (const ReadChannels& reader : readers_) r = std::max(r, reader.largest(static_cast<int64_t>(c)));
      for (size_t i = 0; i < readers_.size(); ++i) {
        const auto channel = static_cast<int64_t>(c);
        energy += readers_[i].energy(channel) * importance(*site_.readers[i], readers_[i], channel);
      }
      most_.push_back(most);
      read_.push_back(r);
      energy_.push_back(energy);
    }
    return true;
  }

  bool fits() {
    const auto count = static_cast<size_t>(channels_);
    for (const Channels* v : coded_) {
      if (v->most.size() != count) return false;
    }
    for (const Layer* maker : site_.makers) {
      if (channels_of(*maker) != channels_) return false;
    }
    if (site_.norm != nullptr && !takes_factors(*site_.norm, channels_)) return false;
    for (const Layer* reader : site_.readers) {
      readers_.emplace_back(*reader, channels_);
      const auto input = known_.find(plan_.values[reader->input].value);
      if (!readers_.back().good() || input == known_.end() || input->second.square.size() != count) return false;
      read_values_.push_back(&input->second);
    }
    return !readers_.empty();
  }

  // What noise in a depthwise result costs behind it; 1 where that is not known.
  double importance(Layer& reader, const ReadChannels& channels, int64_t channel) {
    if (!channels.depthwise()) return 1;
    double sum = 0;
    for (const Layer* next : readers_of(plan_, reader.chain.back()->out())) {
      const ReadChannels behind(*next, channels_);
      if (!behind.good()) return 1;
      sum += behind.energy(channel);
    }
    return sum > 0 ? sum : 1;
  }

  double cost(const std::vector<double>& s) const {
    double steps = 0, energy = 0;
    for (size_t c = 0; c < s.size(); ++c) energy += energy_[c] * s[c] * s[c];
    for (const Channels* v : coded_) {
      double step = 0;
      for (size_t c = 0; c < s.size(); ++c) step = std::max(step, v->most[c] / s[c]);
      steps += step * step;
    }
    double sum = steps / (255.0 * 255.0) * energy;
    for (size_t i = 0; i < readers_.size(); ++i) {
      const ReadChannels& reader = readers_[i];
      if (reader.depthwise() && per_channel_) continue;  // a channel's own scale follows its factor
      double square = 0;
      for (size_t c = 0; c < s.size(); ++c) square += read_values_[i]->square[c] / (s[c] * s[c]);
      const double taps = static_cast<double>(reader.taps());
      sum += reader.squared_steps(s, per_channel_) / (127.0 * 127.0) /
             (reader.depthwise() ? static_cast<double>(channels_) : 1) * square * taps;
    }
    if (per_channel_) return sum;
    for (const Layer* maker : site_.makers) sum += cost_of_rows(*maker, s, energy);
    return sum;
  }

  // Of the weights that make the value, where one scale serves all of them.
  double cost_of_rows(const Layer& maker, const std::vector<double>& s, double energy) const {
    const WeightRows rows = weights_of(maker);
    double most = 0, square = 0;
    for (int64_t c = 0; c < channels_; ++c)
      most = std::max(most, largest_of(rows.row(c), rows.per_channel) / s[static_cast<size_t>(c)]);
    const auto input = known_.find(plan_.values[maker.input].value);
    if (input == known_.end() || input->second.square.empty()) return 0;
    for (const double x : input->second.square) square += x / static_cast<double>(input->second.square.size());
    return most * most / (127.0 * 127.0) * square * static_cast<double>(rows.per_channel) * energy;
  }

  std::vector<std::vector<double>> candidates() const {
    std::vector<std::vector<double>> all;
    for (const double a : {0.25, 0.5, 0.75, 1.0})
      all.push_back(bounded([&](size_t c) { return std::pow(most_[c], a) / std::pow(read_[c], 1 - a); }));
    if (!site_.makers.empty()) all.push_back(even_factors());
    return all;
  }

  std::vector<double> even_factors() const {
    const std::vector<double> s = even();
    return bounded([&](size_t c) { return s[c]; });
  }

  // Those of the paper: each channel's largest weight is the same on both sides. 0: a side has none.
  std::vector<double> even() const {
    std::vector<double> s(most_.size(), 0);
    for (const Layer* maker : site_.makers) {
      const WeightRows rows = weights_of(*maker);
      for (size_t c = 0; c < s.size(); ++c)
        s[c] = std::max(s[c], largest_of(rows.row(static_cast<int64_t>(c)), rows.per_channel));
    }
    for (size_t c = 0; c < s.size(); ++c) s[c] = read_[c] > 0 ? std::sqrt(s[c] / read_[c]) : 0;
    return s;
  }

  // The median of what is above 0; 1 where nothing is.
  static double median_of(std::vector<double> s) {
    s.erase(std::remove_if(s.begin(), s.end(), [](double f) { return !(f > 0) || !std::isfinite(f); }), s.end());
    if (s.empty()) return 1;
    std::nth_element(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(s.size() / 2), s.end());
    return s[s.size() / 2];
  }

  // Factors about their median, which channels that are never there, or never read, take as well. Where all weights
  // share a scale, what is never there must not own it: it takes the paper's factor.
  template <class F>
  std::vector<double> bounded(const F& factor) const {
    std::vector<double> s(most_.size(), 0);
    for (size_t c = 0; c < s.size(); ++c) {
      if (most_[c] > 0 && read_[c] > 0) s[c] = factor(c);
    }
    const std::vector<double> idle = per_channel_ ? std::vector<double>(s.size(), 0) : even();
    const double median = median_of(s), idle_median = median_of(idle);
    const auto within = [](double f) {
      return f > 0 && std::isfinite(f) ? std::clamp(f, 1 / kMostFactor, kMostFactor) : 1;
    };
    for (size_t c = 0; c < s.size(); ++c) s[c] = within(s[c] > 0 ? s[c] / median : idle[c] / idle_median);
    return s;
  }

  void apply(const std::vector<double>& s) {
    for (size_t i = 0; i < readers_.size(); ++i) {
      for (int64_t c = 0; c < channels_; ++c) readers_[i].scale(c, s[static_cast<size_t>(c)]);
      set_weights(graph_, *site_.readers[i], readers_[i].rows());
    }
    if (site_.norm != nullptr) scale_gains(s);
    for (Layer* maker : site_.makers) scale_rows(maker, s);
    for (const ir::Value* v : site_.values) {
      const auto found = known_.find(v);
      if (found == known_.end()) continue;
      for (size_t c = 0; c < s.size(); ++c) {
        found->second.most[c] /= s[c];
        found->second.square[c] /= s[c] * s[c];
      }
    }
  }

  void scale_rows(Layer* maker, const std::vector<double>& s) {
    WeightRows rows = weights_of(*maker);
    std::vector<double> bias = bias_of(*maker);
    for (int64_t c = 0; c < channels_; ++c) {
      for (int64_t i = 0; i < rows.per_channel; ++i) rows.row(c)[i] /= s[static_cast<size_t>(c)];
      if (!bias.empty()) bias[static_cast<size_t>(c)] /= s[static_cast<size_t>(c)];
    }
    set_weights(graph_, *maker, rows);
    if (!bias.empty()) set_bias(graph_, *maker, bias);
  }

  void scale_gains(const std::vector<double>& s) {
    for (size_t i = 1; i < site_.norm->inputs.size(); ++i) {
      const ir::Value* v = site_.norm->in(i);
      if (v == nullptr) continue;
      std::vector<float> values;
      for (size_t c = 0; c < s.size(); ++c)
        values.push_back(static_cast<float>(
            read_real(DType::kF32, v->constant->tensor.bytes.data(), static_cast<int64_t>(c)) / s[c]));
      ir::Value* changed =
          graph_.add_constant(v->name, ir::make_constant_of<float>(DType::kF32, v->type.shape, values));
      graph_.set_input(site_.norm, i, changed);
    }
  }

  ir::Graph& graph_;
  Plan& plan_;
  const FactorSite& site_;
  ChannelsOfValues& known_;
  const bool per_channel_;
  int64_t channels_ = 0;
  std::vector<const Channels*> coded_, read_values_;  // of the site's values; of what each reader reads
  std::vector<ReadChannels> readers_;
  std::vector<double> most_, read_, energy_;  // of each channel: magnitude, largest weight, squares of weights
};

ChannelsOfValues channels_of(const Plan& plan, const std::map<uint32_t, Statistics>& statistics) {
  ChannelsOfValues out;
  for (const CodedValue& c : plan.values) {
    const auto found = statistics.find(c.value->id);
    if (found == statistics.end()) continue;
    const RangeObserver& range = found->second.range;
    Channels& channels = out[c.value];
    for (size_t i = 0; i < range.lows().size() && i < found->second.moments.channels(); ++i) {
      channels.most.push_back(
          std::max(std::fabs(static_cast<double>(range.lows()[i])), std::fabs(static_cast<double>(range.highs()[i]))));
      channels.square.push_back(found->second.moments.mean_square(i));
    }
  }
  return out;
}

std::vector<FactorSite> sites_of(ir::Graph& graph, Plan& plan) {
  std::vector<FactorSite> sites;
  std::set<const Layer*> done;
  Stream stream(plan);
  for (const Layer& layer : plan.layers) {
    FactorSite site;
    if (done.count(&layer) != 0 || !stream.follow(layer, &site)) continue;
    done.insert(site.makers.begin(), site.makers.end());
    sites.push_back(site);
  }
  for (ir::Node& n : graph.nodes()) {
    if ((n.op != Op::kLayerNormalization && n.op != Op::kRMSNormalization) || n.out() == nullptr) continue;
    FactorSite site;
    site.values = {n.out()};
    site.norm = &n;
    site.readers = readers_of(plan, n.out());
    if (!site.readers.empty()) sites.push_back(site);
  }
  return sites;
}

// What noise in a channel of `v` costs the layers behind it, through windows of single channels; 1 where not known.
double importance_of(Plan& plan, const ir::Value* v, int64_t channels, int64_t channel) {
  double sum = 0;
  for (const Layer* reader : readers_of(plan, v)) {
    const ReadChannels read(*reader, channels);
    if (!read.good()) return 1;
    const double behind = read.depthwise() ? importance_of(plan, reader->chain.back()->out(), channels, channel) : 1;
    sum += read.energy(channel) * behind;
  }
  return sum > 0 ? sum : 1;
}

// Noise against signal of one layer's result, with one scale for all weights; factors between layers change neither
// the signal nor what a noise costs behind it.
double noise_of(Plan& plan, const Layer& layer, const ChannelsOfValues& known) {
  const auto input = known.find(plan.values[layer.input].value);
  const int64_t groups = groups_of(layer);
  const WeightRows rows = weights_of(layer);
  if (input == known.end() || input->second.most.empty()) return 0;
  const auto read = static_cast<int64_t>(input->second.most.size()) / groups;
  if (read == 0 || rows.per_channel % read != 0) return 0;
  const int64_t taps = rows.per_channel / read;
  const double step = largest_of(input->second.most.data(), read * groups) / 255;
  const double weight_step = largest_of(rows.values.data(), static_cast<int64_t>(rows.values.size())) / 127;
  double noise = 0, signal = 0;
  for (int64_t r = 0; r < rows.channels; ++r) {
    const int64_t first = r / std::max<int64_t>(rows.channels / groups, 1) * read;
    double energy = 0, square = 0, product = 0;
    for (int64_t i = 0; i < rows.per_channel; ++i) {
      const double w = rows.row(r)[i] * rows.row(r)[i], x = input->second.square[static_cast<size_t>(first + i / taps)];
      energy += w;
      square += x;
      product += w * x;
    }
    const double cost = importance_of(plan, layer.chain.back()->out(), rows.channels, r);
    noise += cost * (step * step * energy + weight_step * weight_step * square);
    signal += cost * product;
  }
  return signal > 0 ? noise / signal : 0;
}

double noise_of(Plan& plan, const ChannelsOfValues& known) {
  double sum = 0;
  for (const Layer& layer : plan.layers) sum += noise_of(plan, layer, known);
  return sum;
}

// The constants that factors change, to go back to.
class Constants {
 public:
  Constants(const Plan& plan, const std::vector<FactorSite>& sites) {
    for (const Layer& layer : plan.layers) {
      keep(layer.node);
      if (layer.sum != nullptr) keep(layer.sum);
    }
    for (const FactorSite& site : sites) {
      if (site.norm != nullptr) keep(site.norm);
    }
  }
  void put_back(ir::Graph& graph) const {
    for (const Input& was : inputs_) {
      if (was.node->inputs[was.index] != was.value) graph.set_input(was.node, was.index, was.value);
      was.value->constant = was.constant;
    }
  }

 private:
  // Its value, and the constant that this was.
  struct Input {
    ir::Node* node;
    size_t index;
    ir::Value* value;
    ir::ConstantPtr constant;
  };
  void keep(ir::Node* n) {
    for (size_t i = 0; i < n->inputs.size(); ++i) {
      if (n->in(i) != nullptr && n->in(i)->constant != nullptr)
        inputs_.push_back({n, i, n->inputs[i], n->inputs[i]->constant});
    }
  }
  std::vector<Input> inputs_;
};

class Equaliser {
 public:
  Equaliser(ir::Graph& graph, Plan& plan, const std::map<uint32_t, Statistics>& statistics, bool per_channel)
      : graph_(graph),
        plan_(plan),
        per_channel_(per_channel),
        known_(channels_of(plan, statistics)),
        sites_(sites_of(graph, plan)) {}

  std::vector<EqualisedValue> run() {
    if (per_channel_) return site_by_site();
    // Rows that share a scale hang together over a whole chain, which the cost of one site does not see.
    const Constants before(plan_, sites_);
    const ChannelsOfValues known = known_;
    const double none = noise_of(plan_, known_);
    site_by_site();
    const double of_apart = noise_of(plan_, known_);
    before.put_back(graph_);  // to do it once more takes time, to keep the weights as they are now takes memory
    known_ = known;
    const std::vector<const FactorSite*> changed = by_chains();
    const double of_chains = noise_of(plan_, known_);
    if (of_chains < std::min(none * kWorthwhile, of_apart)) {
      std::vector<EqualisedValue> out;
      for (const FactorSite* site : changed)
        out.push_back({site->values[0]->name, 10 * std::log10(none / of_chains), ids_of(*site)});
      return out;
    }
    before.put_back(graph_);
    known_ = known;
    return of_apart < none ? site_by_site() : std::vector<EqualisedValue>{};
  }

 private:
  std::vector<EqualisedValue> site_by_site() {
    std::vector<EqualisedValue> out;
    for (const FactorSite& site : sites_) {
      const double gain = SiteOfFactors(graph_, plan_, site, &known_, per_channel_).equalise();
      if (gain > 0) out.push_back({site.values[0]->name, gain, ids_of(site)});
    }
    return out;
  }

  // The values that take a site's factors.
  static std::vector<uint32_t> ids_of(const FactorSite& site) {
    std::vector<uint32_t> ids;
    std::vector<const ir::Value*> open = site.values;
    while (!open.empty()) {
      const ir::Value* const v = open.back();
      open.pop_back();
      if (std::find(ids.begin(), ids.end(), v->id) != ids.end()) continue;
      ids.push_back(v->id);
      for (const ir::Use& u : v->uses) {
        if (passes_factors(*u.node)) open.push_back(u.node->out());
      }
    }
    return ids;
  }

  // The factors of the paper, in turn until they are settled. Those that took them.
  std::vector<const FactorSite*> by_chains() {
    std::vector<bool> changed(sites_.size(), false);
    for (int round = 0; round < kMostRounds; ++round) {
      double most = 0;
      for (size_t i = 0; i < sites_.size(); ++i) {
        if (sites_[i].norm != nullptr) continue;
        const double factor = SiteOfFactors(graph_, plan_, sites_[i], &known_, per_channel_).make_even();
        if (factor > 1) changed[i] = true;
        most = std::max(most, factor);
      }
      if (most < kSettled) break;
    }
    std::vector<const FactorSite*> out;
    for (size_t i = 0; i < sites_.size(); ++i) {
      if (changed[i]) out.push_back(&sites_[i]);
    }
    return out;
  }

  ir::Graph& graph_;
  Plan& plan_;
  const bool per_channel_;
  ChannelsOfValues known_;
  const std::vector<FactorSite> sites_;
};

}  // namespace

std::vector<EqualisedValue> equalise(ir::Graph& graph, Plan& plan, const std::map<uint32_t, Statistics>& statistics,
                                     bool per_channel) {
  std::vector<EqualisedValue> out = Equaliser(graph, plan, statistics, per_channel).run();
  graph.drop_unused_values();
  return out;
}

}  // namespace vireo::quant
