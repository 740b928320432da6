#include "quant/repair/equalise.h"

#include <algorithm>
#include <cmath>

#include "quant/int8/layer.h"
#include "quant/repair/rounding.h"
#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::quant {
namespace {

constexpr double kMostFactor = 1e4;   // the largest over the smallest, at most its square
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

// A value whose channels may take factors.
struct FactorSite {
  const ir::Value* value = nullptr;
  Layer* layer = nullptr;    // what makes it: a product...
  ir::Node* norm = nullptr;  // ... or a normalisation
  std::vector<Layer*> readers;
};

class SiteOfFactors {
 public:
  SiteOfFactors(ir::Graph& graph, Plan& plan, const FactorSite& site, const std::map<uint32_t, Statistics>& statistics,
                bool per_channel)
      : graph_(graph), plan_(plan), site_(site), statistics_(statistics), per_channel_(per_channel) {}

  // The gain in decibels; 0: nothing was changed.
  double equalise() {
    const auto found = statistics_.find(site_.value->id);
    if (found == statistics_.end() || found->second.range.lows().size() < 2) return 0;
    const Statistics& s = found->second;
    channels_ = static_cast<int64_t>(s.range.lows().size());
    if (!fits()) return 0;
    for (int64_t c = 0; c < channels_; ++c) {
      const auto at = static_cast<size_t>(c);
      most_.push_back(std::max(std::fabs(static_cast<double>(s.range.lows()[at])),
                               std::fabs(static_cast<double>(s.range.highs()[at]))));
      square_.push_back(s.moments.mean_square(at));
      double r = 0, energy = 0;
      for (const ReadChannels& reader : readers_) r = std::max(r, reader.largest(c));
      for (size_t i = 0; i < readers_.size(); ++i)
        energy += readers_[i].energy(c) * importance(*site_.readers[i], readers_[i], c);
      read_.push_back(r);
      energy_.push_back(energy);
    }
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

 private:
  bool fits() {
    if (site_.layer != nullptr && weights_of(*site_.layer).channels != channels_) return false;
    if (site_.norm != nullptr && !takes_factors(*site_.norm, channels_)) return false;
    for (const Layer* reader : site_.readers) {
      readers_.emplace_back(*reader, channels_);
      if (!readers_.back().good()) return false;
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
    double step = 0, energy = 0, square = 0;
    for (size_t c = 0; c < s.size(); ++c) {
      step = std::max(step, most_[c] / s[c]);
      energy += energy_[c] * s[c] * s[c];
      square += square_[c] / (s[c] * s[c]);
    }
    double sum = step * step / (255.0 * 255.0) * energy;
    for (const ReadChannels& reader : readers_) {
      if (reader.depthwise() && per_channel_) continue;  // a channel's own scale follows its factor
      const double taps = static_cast<double>(reader.taps());
      sum += reader.squared_steps(s, per_channel_) / (127.0 * 127.0) /
             (reader.depthwise() ? static_cast<double>(channels_) : 1) * square * taps;
    }
    if (!per_channel_ && site_.layer != nullptr) sum += cost_of_rows(s, energy);
    return sum;
  }

  // Of the weights that make the value, where one scale serves all of them.
  double cost_of_rows(const std::vector<double>& s, double energy) const {
    const WeightRows rows = weights_of(*site_.layer);
    double most = 0, square = 0;
    for (int64_t c = 0; c < channels_; ++c)
      most = std::max(most, largest_of(rows.row(c), rows.per_channel) / s[static_cast<size_t>(c)]);
    const auto input = statistics_.find(plan_.values[site_.layer->input].value->id);
    if (input == statistics_.end()) return 0;
    const MomentsObserver& m = input->second.moments;
    for (size_t c = 0; c < m.channels(); ++c) square += m.mean_square(c) / static_cast<double>(m.channels());
    return most * most / (127.0 * 127.0) * square * static_cast<double>(rows.per_channel) * energy;
  }

  std::vector<std::vector<double>> candidates() const {
    std::vector<std::vector<double>> all;
    for (const double a : {0.25, 0.5, 0.75, 1.0})
      all.push_back(bounded([&](size_t c) { return std::pow(most_[c], a) / std::pow(read_[c], 1 - a); }));
    if (site_.layer != nullptr) {
      const WeightRows rows = weights_of(*site_.layer);
      all.push_back(bounded([&](size_t c) {
        return std::sqrt(largest_of(rows.row(static_cast<int64_t>(c)), rows.per_channel) / read_[c]);
      }));
    }
    return all;
  }

  // Factors about their median, which channels that are never there, or never read, take as well.
  template <class F>
  std::vector<double> bounded(const F& factor) const {
    std::vector<double> s(most_.size(), 0), alive;
    for (size_t c = 0; c < s.size(); ++c) {
      if (most_[c] > 0 && read_[c] > 0) s[c] = factor(c);
      if (s[c] > 0 && std::isfinite(s[c])) alive.push_back(s[c]);
    }
    if (alive.empty()) return std::vector<double>(s.size(), 1);
    std::nth_element(alive.begin(), alive.begin() + static_cast<std::ptrdiff_t>(alive.size() / 2), alive.end());
    const double median = alive[alive.size() / 2];
    for (double& f : s) f = f > 0 && std::isfinite(f) ? std::clamp(f / median, 1 / kMostFactor, kMostFactor) : 1;
    return s;
  }

  void apply(const std::vector<double>& s) {
    for (size_t i = 0; i < readers_.size(); ++i) {
      for (int64_t c = 0; c < channels_; ++c) readers_[i].scale(c, s[static_cast<size_t>(c)]);
      set_weights(graph_, *site_.readers[i], readers_[i].rows());
    }
    if (site_.norm != nullptr) return scale_gains(s);
    WeightRows rows = weights_of(*site_.layer);
    std::vector<double> bias = bias_of(*site_.layer);
    for (int64_t c = 0; c < channels_; ++c) {
      for (int64_t i = 0; i < rows.per_channel; ++i) rows.row(c)[i] /= s[static_cast<size_t>(c)];
      if (!bias.empty()) bias[static_cast<size_t>(c)] /= s[static_cast<size_t>(c)];
    }
    set_weights(graph_, *site_.layer, rows);
    if (!bias.empty()) set_bias(graph_, *site_.layer, bias);
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
  const std::map<uint32_t, Statistics>& statistics_;
  const bool per_channel_;
  int64_t channels_ = 0;
  std::vector<ReadChannels> readers_;
  std::vector<double> most_, square_, read_, energy_;  // of each channel: magnitude, its mean square, weights
};

}  // namespace

std::vector<EqualisedValue> equalise(ir::Graph& graph, Plan& plan, const std::map<uint32_t, Statistics>& statistics,
                                     bool per_channel) {
  std::vector<FactorSite> sites;
  for (Layer& layer : plan.layers) {
    const bool passes = std::all_of(layer.chain.begin(), layer.chain.end(), [&](const ir::Node* n) {
      return n == layer.node || n == layer.sum || passes_factors(*n);
    });
    FactorSite site;
    site.value = plan.values[layer.result].value;
    site.layer = &layer;
    site.readers = readers_of(plan, site.value);
    if (passes && !site.readers.empty()) sites.push_back(site);
  }
  for (ir::Node& n : graph.nodes()) {
    if ((n.op != Op::kLayerNormalization && n.op != Op::kRMSNormalization) || n.out() == nullptr) continue;
    FactorSite site;
    site.value = n.out();
    site.norm = &n;
    site.readers = readers_of(plan, site.value);
    if (!site.readers.empty()) sites.push_back(site);
  }
  std::vector<EqualisedValue> out;
  for (const FactorSite& site : sites) {
    const double gain = SiteOfFactors(graph, plan, site, statistics, per_channel).equalise();
    if (gain > 0) out.push_back({site.value->name, gain});
  }
  graph.drop_unused_values();
  return out;
}

}  // namespace vireo::quant
