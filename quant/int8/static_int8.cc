#include "quant/int8/static_int8.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "converter/ir/infer.h"
#include "quant/calibrate/room.h"
#include "quant/calibrate/workers.h"
#include "quant/int8/attention.h"
#include "quant/int8/layer.h"
#include "quant/int8/share.h"
#include "quant/int8/unnamed.h"
#include "quant/int8/wide.h"
#include "quant/repair/bias.h"
#include "quant/repair/equalise.h"
#include "quant/repair/rounding.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::quant {
namespace {

constexpr uint64_t kMostWindows = 17u << 20;  // bytes that may be held from one step to the next
constexpr size_t kAccountSamples = 4;
constexpr double kAccountElements = 1 << 24;  // of all values, in as many samples as hold them, but two at least
// A part of a Concat takes the scale of the whole where that costs it less than half a decibel.
constexpr double kJoinedLoss = 1.122;

// The functions behind a value, of many elements at once, by their reference kernels.
ValueFunction function_of(const CodedValue& value) {
  if (value.behind.empty()) return {};
  return [&value](const std::vector<float>& x, std::vector<double>* y) {
    Shape shape;
    shape.rank = 1;
    shape[0] = static_cast<int64_t>(x.size());
    ir::ConstantPtr now = ir::make_constant_of<float>(DType::kF32, shape, x);
    for (const ir::Node* n : value.behind) {
      std::vector<ir::ConstantPtr> inputs, outputs;
      for (const ir::Value* v : n->inputs)
        inputs.push_back(v == nullptr ? nullptr : v->constant == nullptr ? now : ir::with_shape(v->constant, Shape{}));
      std::string message;
      if (!ir::evaluate_node(*n, inputs, 1 << 20, &outputs, &message)) return false;
      now = outputs[0];
    }
    if (now->tensor.count() != static_cast<int64_t>(x.size())) return false;
    y->resize(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      (*y)[i] = read_real(now->tensor.type.dtype, now->tensor.bytes.data(), static_cast<int64_t>(i));
    return true;
  };
}

class Quantization {
 public:
  Quantization(ir::Graph& graph, const Int8Options& options, Int8Report* report, PassLog* log)
      : graph_(graph), options_(options), recipe_(options.recipe), report_(*report), log_(*log) {}

  // False: log->failure says why.
  bool run(std::unique_ptr<ir::Graph>* annotated) {
    report_.recipe = recipe_;
    name_values(graph_);
    if (!known_names()) return false;
    std::vector<std::pair<const ir::Node*, std::string>> left;
    const size_t spelled = spell_attention(
        graph_, [&](const ir::Node& n) { return why_kept(n); }, &left);
    if (spelled != 0) log_.changed(spelled);
    plan_ = make_plan(graph_, [&](const ir::Node& n) { return why_kept(n) != nullptr; });
    plan_.left.insert(plan_.left.end(), left.begin(), left.end());
    for (const auto& [node, why] : plan_.left) {
      report_.left.emplace_back(layer_name(*node), why);
      log_.reject(*node, why);
    }
    if (plan_.layers.empty() && plan_.pairs.empty() && plan_.cells.empty())
      return fail(
          "nothing of the model can compute in int8" +
              (plan_.left.empty() ? ": it has no product with constant weights"
                                  : ", \"" + layer_name(*plan_.left[0].first) + "\" because " + plan_.left[0].second),
          "int8-weights and int4 keep weights of matrices in codes, and bf16 halves them");
    // The mean of what a detector's layers read is that of the background. To shift a bias by it moves the few
    // positions that have objects.
    corrects_bias_ = recipe_.correct_bias.value_or(joined_exits(plan_).empty());
    report_.recipe.correct_bias = corrects_bias_;
    if (options_.samples != nullptr) (void)make_room(graph_, options_.memory);
    if (!timed("calibrate", [&] { return calibrate_values(); })) return false;
    report_.multiply_adds = count_multiply_adds(
        graph_, plan_, options_.samples == nullptr ? std::vector<HostTensor>() : options_.samples->read(0));
    if (recipe_.equalise && !timed("equalise", [&] { return equalise_layers(); })) return false;
    if (!timed("choose ranges", [&] { return settle_ranges(); })) return false;
    if (asks_for_wide() && !timed("compare outputs", [&] { return find_wide(); })) return false;
    if (!timed("round weights", [&] { return round_weights(); })) return false;
    const std::unique_ptr<ir::Graph> reference = graph_.clone();
    const std::vector<ir::Value*> decoded = annotate(graph_, plan_, choice_);
    choice_.weights.clear();  // the graph has them
    log_.changed(plan_.values.size());
    report_.values = plan_.values.size();
    *annotated = graph_.clone();
    if (!options_.account || options_.samples == nullptr) return true;
    return timed("compare layers", [&] { return compare_layers(*reference, decoded); });
  }

 private:
  bool fail(const std::string& what, const std::string& help) {
    log_.failure = what;
    log_.failure_help = help;
    return false;
  }

  template <class Step>
  bool timed(const char* name, const Step& step) {
    const auto start = std::chrono::steady_clock::now();
    if (options_.tell) options_.tell(name, 0);
    const bool good = step();
    report_.seconds.emplace_back(name, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return good;
  }

  // Every pattern of the recipe means a node, every range a value: of the model, or of an Attention where it becomes
  // products. A recipe that was edited may keep it in float.
  bool known_names() {
    const std::unique_ptr<ir::Graph> products = graph_.clone();
    std::vector<std::pair<const ir::Node*, std::string>> left;
    spell_attention(
        *products, [](const ir::Node&) -> const char* { return nullptr; }, &left);
    const std::initializer_list<const ir::Graph*> graphs = {&graph_, products.get()};
    std::string unknown;
    if (!knows_patterns(graphs, recipe_, &unknown))
      return fail("the recipe speaks of the layer \"" + unknown + "\", and no node of the model has such a name",
                  "the report of a conversion lists the layers by name");
    std::set<std::string> values;
    for (const ir::Graph* g : graphs) {
      for (const ir::Node& n : g->nodes()) {
        for (const ir::Value* v : n.outputs) values.insert(v == nullptr ? "" : v->name);
      }
      for (const ir::Value* v : g->inputs()) values.insert(v->name);
    }
    const char* const help =
        "the recipe is for another model, or for another version of it: make it anew (--save-recipe)";
    for (const auto& [name, range] : recipe_.ranges) {
      if (values.count(name) == 0)
        return fail("the recipe has a range for \"" + name + "\", and the model has no such value", help);
    }
    for (const std::string& name : recipe_.wide.value_or(std::vector<std::string>())) {
      if (values.count(name) == 0)
        return fail("the recipe gives 16 bits to \"" + name + "\", and the model has no such value", help);
    }
    return true;
  }

  // What changed is seen anew: its values have other ranges. The same pass takes the windows that rounding needs.
  bool equalise_layers() {
    if (options_.samples == nullptr)
      return fail("channels are equalised by sample data, and no data is given",
                  "give sample data (--calibrate, --data), or say \"condition\": [] in the recipe");
    report_.equalised = equalise(graph_, plan_, statistics_, recipe_.per_channel);
    if (options_.samples != nullptr) (void)make_room(graph_, options_.memory);
    for (const EqualisedValue& e : report_.equalised) {
      for (const uint32_t id : e.ids) statistics_.erase(id);
    }
    // A file of statistics has all of them, as another recipe may round where this one does not.
    const bool with_windows = (recipe_.descend || options_.kept != nullptr) && room_for_windows();
    return report_.equalised.empty() && !with_windows ? true : observe("equalise", with_windows);
  }

  // Why a node stays in float; null: it need not.
  const char* why_kept(const ir::Node& n) const {
    const bool pair = n.op == Op::kAttention || (n.op == Op::kMatMul && n.in(0)->constant == nullptr &&
                                                 n.in(1) != nullptr && n.in(1)->constant == nullptr);
    const std::string name = layer_name(n);
    if (kept(recipe_, name)) return "the recipe keeps it in float";
    return pair && format_of(recipe_, name) == Format::kW8A16 ? "products of two values have 8 bits" : nullptr;
  }

  bool given(const CodedValue& c) const { return c.bounded || recipe_.ranges.count(c.value->name) != 0; }

  PassOptions pass_options(const char* step) const {
    PassOptions p;
    p.memory = options_.memory;
    p.shared = options_.shared;
    p.held = held_besides({&graph_}, options_.held);
    if (options_.tell) p.tell = [this, step](double share) { options_.tell(step, share); };
    return p;
  }

  bool calibrate_values() {
    if (options_.samples != nullptr) {
      options_.samples->fit(graph_);
      if (options_.kept != nullptr) {
        data_ = key_of(*options_.samples);
        if (!options_.kept->is_of(data_))
          return fail("the kept statistics are of other sample data",
                      "name another file (--stats), or remove that one");
      }
      return observe("calibrate", false);
    }
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      const CodedValue& c = plan_.values[i];
      const bool read_by_layer =
          std::any_of(plan_.layers.begin(), plan_.layers.end(), [&](const Layer& l) { return l.input == i; });
      if (!given(c) || (corrects_bias_ && read_by_layer))
        return fail("the value \"" + c.value->name + "\" has to be seen on data, and no data is given",
                    "give sample data (--calibrate, --data), or a recipe that has all ranges and says \"bias\": "
                    "\"keep\"");
    }
    return true;
  }

  uint64_t bytes_of_windows(const Layer& layer) const {
    const int64_t size = weights_of_row(layer);
    return most_windows(layer, size) * static_cast<uint64_t>(size * groups_of(layer)) * sizeof(uint16_t);
  }
  uint64_t bytes_of_windows() const {
    uint64_t sum = 0;
    for (const Layer& layer : plan_.layers) sum += bytes_of_windows(layer);
    return sum;
  }
  // Whether all of them may be held while other steps go on: they are few, and far below a ceiling.
  bool room_for_windows() const {
    constexpr uint64_t kPart = 8;
    const uint64_t bytes = bytes_of_windows();
    return bytes <= kMostWindows && (options_.memory == 0 || kPart * bytes <= options_.memory);
  }
  RowsObserver no_windows(const Layer& layer) const { return RowsObserver(most_windows(layer, weights_of_row(layer))); }

  // The taps in the order in which the graph makes their values: a group of them needs no more of it than it has to.
  std::vector<size_t> by_nodes(const std::vector<Tap>& taps) const {
    std::map<const ir::Value*, size_t> place;
    for (const ir::Node& n : graph_.nodes()) {
      for (const ir::Value* v : n.outputs) place.emplace(v, place.size() + 1);  // inputs are at 0
    }
    std::vector<size_t> order(taps.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return place[taps[a].value] < place[taps[b].value]; });
    return order;
  }

  // Null: nothing is kept.
  std::unique_ptr<ValueKeys> keys_of_values() const {
    return options_.kept == nullptr ? nullptr : std::make_unique<ValueKeys>(graph_);
  }

  // What the windows of a layer depend on.
  KeptKey key_of_windows(const ValueKeys& keys, const Layer& layer) const {
    const std::vector<uint8_t>& attributes = layer.node->attrs;
    const int64_t row = weights_of_row(layer);
    return joined_key("windows", {keys.of(*layer.node->in(0)), key_of_bytes(attributes.data(), attributes.size())},
                      {static_cast<int64_t>(layer.node->op), row, static_cast<int64_t>(most_windows(layer, row))});
  }

  bool find_windows(const ValueKeys& keys, size_t i) {
    const Layer& layer = plan_.layers[i];
    const std::vector<uint8_t>* const entry = options_.kept->find(key_of_windows(keys, layer));
    if (entry == nullptr) return false;
    RowsObserver found = no_windows(layer);
    KeptReader reader(*entry);
    found.each_part([&](auto* part) { reader.get(part); });
    if (!reader.done() || !found.whole(static_cast<size_t>(weights_of_row(layer) * groups_of(layer)))) return false;
    windows_[i] = std::move(found);
    return true;
  }

  void keep_windows(const ValueKeys* keys, size_t i) {
    if (keys == nullptr) return;
    KeptWriter entry;
    windows_[i].each_part([&](auto* part) { entry.put(*part); });
    options_.kept->put(key_of_windows(*keys, plan_.layers[i]), entry.take());
  }

  // Passes over the data, for all values whose statistics are not known, and with_windows for what layers read.
  bool observe(const char* step, bool with_windows) {
    std::vector<Tap> taps;
    std::vector<Statistics*> seen;             // of each tap; null: known
    std::vector<std::vector<size_t>> windows;  // of each tap: layers whose windows are taken
    std::map<const ir::Value*, size_t> found;
    const auto tap_of = [&](const ir::Value* v, int channels) {
      const auto [at, is_new] = found.emplace(v, taps.size());
      if (is_new) {
        taps.push_back({v, channels, 0});
        seen.push_back(nullptr);
        windows.emplace_back();
      }
      return at->second;
    };
    const std::unique_ptr<ValueKeys> keys = keys_of_values();
    std::vector<std::pair<KeptKey, Statistics*>> to_keep;
    for (const CodedValue& c : plan_.values) {
      const auto [at, is_new] = statistics_.try_emplace(c.value->id);
      if (!is_new) continue;
      if (keys != nullptr) {
        const KeptKey key = joined_key("statistics", {keys->of(*c.value)}, {c.channels});
        const std::vector<uint8_t>* const entry = options_.kept->find(key);
        if (entry != nullptr && bring_back(*entry, &at->second)) continue;
        to_keep.emplace_back(key, &at->second);
      }
      const size_t tap = tap_of(c.value, c.channels);
      taps[tap].state_bytes += HistogramObserver::kBins * sizeof(uint64_t);
      seen[tap] = &at->second;
    }
    std::vector<size_t> windows_to_keep;
    if (with_windows) windows_.clear();
    for (size_t i = 0; i < plan_.layers.size() && with_windows; ++i) {
      const Layer& layer = plan_.layers[i];
      windows_.push_back(no_windows(layer));
      if (!has_windows(layer) || (keys != nullptr && find_windows(*keys, i))) continue;
      windows_to_keep.push_back(i);
      const size_t tap = tap_of(layer.node->in(0), -1);
      taps[tap].state_bytes += bytes_of_windows(layer);
      windows[tap].push_back(i);
    }
    const std::vector<size_t> order = by_nodes(taps);
    std::vector<Tap> ordered;
    for (const size_t i : order) ordered.push_back(taps[i]);
    bool finite = true;
    const auto take = [&](size_t first, size_t sample, const std::vector<TensorView>& values, std::string* why) {
      ++report_.runs;
      workers_.share(values.size(), [&](size_t i) {
        if (values[i].bytes.empty()) return;
        const size_t tap = order[first + i];
        if (seen[tap] != nullptr) seen[tap]->add(block_of(values[i], taps[tap].channels));
        for (const size_t w : windows[tap]) add_windows(plan_.layers[w], sample, values[i], &windows_[w]);
      });
      for (size_t i = 0; i < values.size(); ++i) {
        const Statistics* const s = seen[order[first + i]];
        finite = s == nullptr || check_finite(*ordered[first + i].value, *s, sample, why);
        if (!finite) return false;
      }
      return true;
    };
    std::string error;
    if (!for_each_sample(graph_, ordered, *options_.samples, *options_.evaluator, pass_options(step), take, &error))
      return fail(error, finite ? "--memory sets how much a pass over the data may take"
                                : "look at that sample (the first one is 0): a number is missing, or too large");
    for (const auto& [key, statistics] : to_keep) options_.kept->put(key, entry_of(statistics));
    for (const size_t i : windows_to_keep) keep_windows(keys.get(), i);
    report_.samples = options_.samples->count();
    report_.never_fires.clear();
    for (const CodedValue& c : plan_.values) {
      const RangeObserver& range = statistics_[c.value->id].range;
      if (range.low() == 0 && range.high() == 0) report_.never_fires.push_back(c.value->name);
    }
    return true;
  }

  bool settle_ranges() {
    std::vector<ValueRange> ranges;
    const std::vector<bool> wide = wide_values();
    search_ranges(wide);
    for (size_t i = 0; i < plan_.values.size(); ++i) ranges.push_back(range_of(i, wide[i]));
    join_parts(wide, &ranges);
    choice_.constants = recipe_.format == Format::kW8A16 ? DType::kI16 : DType::kU8;
    choice_.scales.clear();
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      choice_.scales.push_back(wide[i] ? wide_scale_of(ranges[i]) : scale_of(ranges[i]));
      report_.recipe.ranges[plan_.values[i].value->name] = ranges[i];
    }
    return true;
  }

  ValueRange range_of(size_t i, bool wide) {
    const CodedValue& c = plan_.values[i];
    const auto known = recipe_.ranges.find(c.value->name);
    if (known != recipe_.ranges.end()) return known->second;
    if (c.bounded) return {c.low, c.high};
    // 16 bits need not clip.
    // The largest scores decide what a Softmax makes, and least squares would clip them for the many small ones.
    if (wide || all_seen(c)) return choose_range(RangeMethod::kMinMax, statistics_[c.value->id], {});
    return chosen_[i];
  }

  bool all_seen(const CodedValue& c) const { return c.scores && recipe_.range == RangeMethod::kMse; }

  // Those of values in 8 bits that data decide, once.
  void search_ranges(const std::vector<bool>& wide) {
    std::vector<std::pair<size_t, const Statistics*>> asked;
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      if (!given(plan_.values[i]) && !wide[i] && !all_seen(plan_.values[i]) && chosen_.emplace(i, ValueRange{}).second)
        asked.emplace_back(i, &statistics_[plan_.values[i].value->id]);
    }
    std::vector<ValueRange> found(asked.size());
    workers_.share(asked.size(), [&](size_t k) {
      found[k] = choose_range(recipe_.range, *asked[k].second, function_of(plan_.values[asked[k].first]));
    });
    for (size_t k = 0; k < asked.size(); ++k) chosen_[asked[k].first] = found[k];
  }

  bool asks_for_wide() const { return recipe_.format == Format::kW8A8 && !recipe_.wide && options_.samples != nullptr; }

  bool find_wide() {
    std::vector<bool> may(plan_.values.size(), true);
    for (const Layer& layer : plan_.layers) {
      if (!has_format(recipe_, layer_name(*layer.node))) continue;
      may[layer.input] = may[layer.result] = false;
    }
    for (const Pair& p : plan_.pairs) may[p.a] = may[p.b] = may[p.result] = false;
    for (const Cell& cell : plan_.cells) {
      may[cell.input] = false;
      if (cell.result != Cell::kNoValue) may[cell.result] = false;
    }
    std::vector<size_t> wide;
    std::string error;
    if (!find_wide_values(graph_, plan_, choice_.scales, may, statistics_, *options_.samples, *options_.evaluator,
                          pass_options("compare outputs"), &wide, &error))
      return fail(error, "say \"wide\": [] in a recipe, or allow more (--memory)");
    report_.recipe.wide.emplace();
    for (const size_t i : wide) report_.recipe.wide->push_back(plan_.values[i].value->name);
    std::sort(report_.recipe.wide->begin(), report_.recipe.wide->end());
    return wide.empty() || settle_ranges();
  }

  Format layer_format(const Layer& layer) const { return format_of(recipe_, layer_name(*layer.node)); }

  // Which of the plan's values have 16 bits: those that a product in w8a16 reads or makes, those that the recipe names,
  // and where the default is w8a16, those that no product touches. Cells are for 8 bits: they decide for what they read
  // and make.
  std::vector<bool> wide_values() const {
    std::vector<bool> wide(plan_.values.size(), false), touched(plan_.values.size(), false);
    for (const Layer& layer : plan_.layers) {
      for (const size_t i : {layer.input, layer.result}) {
        touched[i] = true;
        if (layer_format(layer) == Format::kW8A16) wide[i] = true;
      }
    }
    for (size_t i = 0; i < wide.size(); ++i) {
      if (!touched[i]) wide[i] = recipe_.format == Format::kW8A16;
    }
    for (size_t i = 0; i < wide.size(); ++i) {
      const std::string& name = plan_.values[i].value->name;
      const auto& names = report_.recipe.wide;
      if (names && std::find(names->begin(), names->end(), name) != names->end()) wide[i] = true;
    }
    for (const Pair& p : plan_.pairs) wide[p.a] = wide[p.b] = wide[p.result] = false;
    for (const Cell& cell : plan_.cells) {
      wide[cell.input] = false;
      if (cell.result != Cell::kNoValue) wide[cell.result] = false;
    }
    return wide;
  }

  // One scale for all parts of a Concat whose parts can bear it.
  void join_parts(const std::vector<bool>& wide, std::vector<ValueRange>* ranges) {
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      for (const size_t part : plan_.values[i].parts) {
        const CodedValue& c = plan_.values[part];
        if (wide[i] || wide[part]) continue;
        const auto found = statistics_.find(c.value->id);
        if (c.bounded || found == statistics_.end() || recipe_.ranges.count(c.value->name) != 0) continue;
        const ValueFunction behind = function_of(c);
        const double own = squared_loss(found->second.histogram, scale_of((*ranges)[part]), behind);
        const double joined = squared_loss(found->second.histogram, scale_of((*ranges)[i]), behind);
        if (joined <= own * kJoinedLoss) (*ranges)[part] = (*ranges)[i];
      }
    }
  }

  // Weights by what their products lose: windows of what layers read, which the last pass took, or which are kept while
  // their group's pass goes on.
  bool descend_all() {
    if (options_.samples == nullptr)
      return fail("weights are rounded by sample data, and no data is given",
                  "give sample data (--calibrate, --data), or say \"rounding\": \"nearest\" in the recipe's defaults");
    std::vector<std::pair<double, double>> losses(plan_.layers.size());
    const auto descend_some_of = [&](const std::vector<size_t>& layers, size_t first, size_t count) {
      workers_.share(count, [&](size_t k) {
        const size_t i = layers[first + k];
        if (windows_[i].count() != 0) losses[i] = descend_one(i, windows_[i]);
        windows_[i] = RowsObserver();
      });
    };
    if (!windows_.empty()) {
      std::vector<size_t> all(plan_.layers.size());
      std::iota(all.begin(), all.end(), size_t{0});
      descend_some_of(all, 0, all.size());
    } else {
      const std::unique_ptr<ValueKeys> keys = keys_of_values();
      std::vector<Tap> taps;
      std::vector<size_t> open;  // layers whose windows are not known
      for (size_t i = 0; i < plan_.layers.size(); ++i) {
        const Layer& layer = plan_.layers[i];
        windows_.push_back(no_windows(layer));
        if (!has_windows(layer)) continue;
        if (keys != nullptr && find_windows(*keys, i)) {
          descend_some_of({i}, 0, 1);
          continue;
        }
        open.push_back(i);
        taps.push_back({layer.node->in(0), -1, bytes_of_windows(layer)});
      }
      PassOptions p = pass_options("round weights");
      p.group_done = [&](size_t first, size_t count) {
        for (size_t k = first; k < first + count; ++k) keep_windows(keys.get(), open[k]);
        descend_some_of(open, first, count);
      };
      const auto take = [&](size_t first, size_t sample, const std::vector<TensorView>& values, std::string*) {
        ++report_.runs;
        workers_.share(values.size(), [&](size_t k) {
          const size_t i = open[first + k];
          add_windows(plan_.layers[i], sample, values[k], &windows_[i]);
        });
        return true;
      };
      std::string error;
      if (!for_each_sample(graph_, taps, *options_.samples, *options_.evaluator, p, take, &error))
        return fail(error, "say \"rounding\": \"nearest\" in a recipe's defaults, or allow more (--memory)");
    }
    double before = 0, after = 0;
    for (const auto& [was, is] : losses) {
      before += was;
      after += is;
    }
    if (after > 0) report_.rounding_gain_db = 10 * std::log10(before / after);
    return true;
  }

  // What the nearest codes lose, and what those lose that are chosen.
  std::pair<double, double> descend_one(size_t i, const RowsObserver& windows) {
    const Layer& layer = plan_.layers[i];
    const bool takes_means = corrects_bias_ && (layer.sum != nullptr || layer.node->op != Op::kMatMul);
    const Covariance covariance = covariance_of(windows, groups_of(layer), takes_means);
    const WeightRows rows = weights_of(layer);
    const auto [was, is] = descend(rows, covariance, &choice_.weights[i]);
    const double scale = weights_energy(rows, covariance);
    means_[i] = covariance.means;
    if (!(scale > 0)) return {0, 0};
    return {was / scale, is / scale};
  }

  bool round_weights() {
    means_.resize(plan_.layers.size());
    for (const Layer& layer : plan_.layers) {
      const WeightRows rows = weights_of(layer);
      const double x_scale = static_cast<double>(choice_.scales[layer.input].scale);
      const int bits = weight_bits(layer_format(layer));
      choice_.weights.push_back(
          nearest_codes(rows, weight_scales(rows, recipe_.per_channel, bias_of(layer), x_scale, bits), bits));
    }
    for (const Cell& cell : plan_.cells) choice_.cells.push_back(cell_codes(cell, choice_.scales, recipe_.per_channel));
    if (recipe_.descend && !plan_.layers.empty() && !descend_all()) return false;
    if (corrects_bias_) correct_biases();
    for (size_t i = 0; i < plan_.layers.size(); ++i) {
      Layer& layer = plan_.layers[i];
      round_bias(graph_, layer, static_cast<double>(choice_.scales[layer.input].scale), choice_.weights[i]);
    }
    return true;
  }

  // The variance of a layer's results, by which layers are put on one footing.
  static double weights_energy(const WeightRows& rows, const Covariance& covariance) {
    double sum = 0;
    for (int64_t c = 0; c < rows.channels; ++c) {
      const double* h = covariance.diagonal.data() + c / (rows.channels / covariance.groups) * covariance.size;
      for (int64_t i = 0; i < covariance.size; ++i) sum += rows.row(c)[i] * rows.row(c)[i] * h[i];
    }
    return sum;
  }

  void correct_biases() {
    for (size_t i = 0; i < plan_.layers.size(); ++i) {
      Layer& layer = plan_.layers[i];
      const WeightRows rows = weights_of(layer);
      if (means_[i].empty()) {
        const auto found = statistics_.find(plan_.values[layer.input].value->id);
        if (found != statistics_.end()) means_[i] = means_of(layer, rows, found->second.moments);
      }
      if (means_[i].empty()) continue;
      const std::vector<double> shift = bias_shift(rows, choice_.weights[i], means_[i]);
      std::vector<double> bias = bias_of(layer);
      bias.resize(shift.size());
      for (size_t c = 0; c < shift.size(); ++c) bias[c] += shift[c];
      if (set_bias(graph_, layer, bias)) ++report_.biases_corrected;
    }
  }

  // Fewer where each holds many elements: decibels need no more of them.
  size_t account_samples() const {
    double elements = 0;
    for (const auto& [id, s] : statistics_) elements += static_cast<double>(s.range.count());
    const double each = elements / static_cast<double>(std::max<size_t>(report_.samples, 1));
    const auto enough = static_cast<size_t>(std::ceil(kAccountElements / std::max(each, 1.0)));
    return std::clamp<size_t>(enough, 2, kAccountSamples);
  }

  bool compare_layers(const ir::Graph& reference, const std::vector<ir::Value*>& decoded) {
    PassOptions p = pass_options("compare layers");
    p.most_samples = account_samples();
    std::string error;
    if (account(reference, plan_, choice_, graph_, decoded, statistics_, *options_.samples, *options_.evaluator, p,
                &report_.layers, &error))
      return true;
    return fail("the quantized graph cannot be compared with the model: " + error, "report the model that shows it");
  }

  ir::Graph& graph_;
  const Int8Options& options_;
  const Recipe& recipe_;
  Int8Report& report_;
  PassLog& log_;
  Workers workers_;
  Plan plan_;
  bool corrects_bias_ = true;
  Choice choice_;
  std::vector<RowsObserver> windows_;       // of what each layer reads; empty: not taken
  std::vector<std::vector<double>> means_;  // of what each layer's weights multiply; empty: not known
  KeptKey data_ = {};
  std::map<uint32_t, Statistics> statistics_;
  std::map<size_t, ValueRange> chosen_;  // of values in 8 bits
};

}  // namespace

StaticInt8::StaticInt8(Int8Options options) : options_(std::move(options)) {}

void StaticInt8::run(ir::Graph& graph, PassLog& log) {
  if (annotated_ != nullptr) return;
  report_ = {};
  Quantization(graph, options_, &report_, &log).run(&annotated_);
}

}  // namespace vireo::quant
