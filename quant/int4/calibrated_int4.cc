#include "quant/int4/calibrated_int4.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "quant/calibrate/statistics.h"
#include "quant/int4/fit_gains.h"
#include "quant/int8/plan.h"
#include "quant/observers/gram.h"
#include "quant/schemes/fold_gains.h"
#include "quant/schemes/weights.h"

namespace vireo::quant {
namespace {

// Values whose readers are rounded by one pass over the data do not see each other's loss; more passes take longer.
constexpr size_t kMostRounds = 16;
// Of the mean second moment, on the diagonal: for rounding, and for what takes back the loss of layers before.
constexpr double kRounding = 0.01, kCorrecting = 0.1;
// Rows for each channel, at least, from which drift is learnt: fewer fit what is theirs only.
constexpr int64_t kRowsOfChannel = 8;
// A table that is also the head: how much a row counts as what is read, against what the head makes of it.
constexpr double kRead = 3;
constexpr float kLeastShare = 1e-3f;  // of the largest magnitude of a channel

// A value that products multiply.
struct Input {
  ir::Value* value = nullptr;
  std::vector<ir::Node*> products;
};

// What a pass over the data finds of it: x is what comes in now, x0 what came in before anything was rounded.
struct Seen {
  GramObserver moment, drift;  // E x x^T, E x (x0 - x)^T
};

bool finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

ir::ConstantPtr turned(const ir::Constant& w) {
  const Shape& s = w.tensor.type.shape;
  std::vector<float> from(static_cast<size_t>(element_count(s))), to(from.size());
  std::memcpy(from.data(), w.tensor.bytes.data(), from.size() * sizeof(float));
  for (int64_t i = 0; i < s[0]; ++i) {
    for (int64_t j = 0; j < s[1]; ++j) to[static_cast<size_t>(j * s[0] + i)] = from[static_cast<size_t>(i * s[1] + j)];
  }
  Shape shape = s;
  std::swap(shape[0], shape[1]);
  return ir::make_constant_of<float>(DType::kF32, shape, to);
}

std::function<bool(const ir::Node&)> kept_by(const Recipe& recipe) {
  return [&recipe](const ir::Node& n) { return kept(recipe, layer_name(n)); };
}

class Rounding {
 public:
  Rounding(ir::Graph& graph, const Int4Options& options, Int4Report* report, PassLog* log)
      : graph_(graph), options_(options), recipe_(options.recipe), report_(*report), log_(*log) {}

  bool run() {
    report_.recipe = recipe_;
    std::string unknown;
    if (!knows_patterns({&graph_}, recipe_, &unknown))
      return fail("the recipe speaks of the layer \"" + unknown + "\", and no node of the model has such a name",
                  "the report of a conversion lists the layers by name");
    nodes_ = find_coded_nodes(graph_, kept_by(recipe_), log_);
    if (nodes_.products.empty() && nodes_.lookups.empty())
      return fail("the model has no matrix that a product or a lookup reads, so nothing is put into 4 bits",
                  "--quantize int8 takes convolutions, and fp16 halves them");
    if ((recipe_.descend || recipe_.scale_gains) && !nodes_.products.empty() && !round_all()) return false;
    code_nodes(graph_, nodes_, 4, known_, log_);
    return true;
  }

 private:
  bool fail(const std::string& what, const std::string& help) {
    log_.failure = what;
    log_.failure_help = help;
    return false;
  }

  bool not_finite(const Input& input) {
    return fail("the value \"" + input.value->name + "\" is NaN or infinite on the sample data",
                "look at the samples, and at what the model makes of them (vireo run)");
  }

  bool round_all() {
    if (options_.samples == nullptr)
      return fail("weights are rounded by sample data, and no data is given",
                  "give sample data (--calibrate, --data), or say \"rounding\": \"nearest\" and \"condition\": [] in "
                  "the recipe");
    options_.samples->fit(graph_);
    report_.samples = options_.samples->count();
    reference_ = graph_.clone();
    const std::vector<Input> inputs = inputs_of_products();
    for (const Input& input : inputs) {
      if (recipe_.descend && !code_heads(input)) return false;
    }
    code_tables();
    const size_t most = (inputs.size() + kMostRounds - 1) / kMostRounds;
    for (size_t first = 0; first < inputs.size();) {
      if (options_.tell)
        options_.tell("round weights", static_cast<double>(first) / static_cast<double>(inputs.size()));
      size_t count = std::min(most, inputs.size() - first);
      if (!round_some(inputs, first, &count)) return false;
      first += count;
    }
    return true;
  }

  std::vector<Input> inputs_of_products() const {
    std::vector<Input> out;
    for (ir::Node* n : nodes_.products) {
      const auto known =
          std::find_if(out.begin(), out.end(), [&](const Input& input) { return input.value == n->in(0); });
      if (known == out.end()) {
        out.push_back({n->in(0), {n}});
      } else {
        known->products.push_back(n);
      }
    }
    return out;
  }

  bool is_turned(const ir::Node& product) const { return nodes_.turned.count(product.in(1)->constant.get()) != 0; }
  // Its codes are found.
  bool is_settled(const ir::Node& product) const {
    return is_turned(product) || known_.count({product.in(1)->constant.get(), has_columns_in_rows(product)}) != 0;
  }

  // The table that the product multiplies; null where no lookup reads its weights.
  const ir::Value* table_of(const ir::Node& product) const {
    const auto turned = nodes_.turned.find(product.in(1)->constant.get());
    if (turned != nodes_.turned.end()) return turned->second;
    if (!has_columns_in_rows(product)) return nullptr;
    for (const ir::Node* n : nodes_.lookups) {
      if (n->in(0)->constant == product.in(1)->constant) return n->in(0);
    }
    return nullptr;
  }

  // A table that is the head as well comes before all layers: every one of them sees what its rows become.
  bool code_heads(const Input& input) {
    for (const ir::Node* n : input.products) {
      const ir::Value* const table = table_of(*n);
      if (table == nullptr || known_.count({table->constant.get(), true}) != 0) continue;
      std::vector<Seen> seen(1);
      bool fits = true;
      if (!look({input}, &seen, &fits)) return false;
      const int64_t k = seen[0].moment.size();
      if (!fits) report_.nearest.emplace_back(layer_name(*n), why_);
      if (!fits || k == 0) continue;  // its codes are the nearest, with all other tables
      std::vector<double> values = seen[0].moment.take_mean();
      if (!finite(values)) return not_finite(input);
      const Moment moment(std::move(values), k, kRead);
      const ir::ConstantPtr now = code(*n, *table->constant, true, {&moment, {}});
      if (now != nullptr) set_table(*table, now);
    }
    return true;
  }

  // All other tables have the nearest codes. What a row is off by is drift, which the layers take back.
  void code_tables() {
    for (const ir::Node* n : nodes_.lookups) {
      const ir::Value& table = *n->in(0);
      if (known_.count({table.constant.get(), true}) != 0) continue;
      CodedMatrix codes = code_matrix(*table.constant, true, 4);
      if (!codes.finite) continue;
      const ir::ConstantPtr now = decoded(codes);
      known_[{now.get(), true}] = std::move(codes);
      set_table(table, now);
    }
  }

  // All that read the table, as it lies or turned, see what its codes mean from now on.
  void set_table(const ir::Value& table, const ir::ConstantPtr& now) {
    const ir::ConstantPtr was = table.constant;
    ir::Value* const coded = graph_.add_constant(table.name, now);
    for (ir::Node* n : nodes_.lookups) {
      if (n->in(0)->constant == was) graph_.set_input(n, 0, coded);
    }
    std::map<const ir::Constant*, ir::Value*> turned_now;
    for (ir::Node* n : nodes_.products) {
      const auto found = nodes_.turned.find(n->in(1)->constant.get());
      if (found == nodes_.turned.end()) {
        if (has_columns_in_rows(*n) && n->in(1)->constant == was) graph_.set_input(n, 1, coded);
      } else if (found->second->constant == was) {
        graph_.set_input(n, 1, graph_.add_constant(n->in(1)->name, turned(*now)));
        turned_now[n->in(1)->constant.get()] = coded;
      } else {
        turned_now[found->first] = found->second;
      }
    }
    nodes_.turned = std::move(turned_now);
    changed_ = true;
  }

  // Those of `inputs` from `first` on, as many as one pass may observe: at most *count.
  bool round_some(const std::vector<Input>& inputs, size_t first, size_t* count) {
    for (;; *count = (*count + 1) / 2) {
      const std::vector<Input> some(inputs.begin() + static_cast<std::ptrdiff_t>(first),
                                    inputs.begin() + static_cast<std::ptrdiff_t>(first + *count));
      std::vector<Seen> seen(*count);
      bool fits = true;
      if (!look(some, &seen, &fits)) return false;
      if (!fits && *count > 1) continue;
      ++report_.rounds;
      for (size_t i = 0; i < *count; ++i) {
        if (fits) {
          if (!round_one(some[i], &seen[i])) return false;
        } else {
          for (const ir::Node* n : some[i].products) report_.nearest.emplace_back(layer_name(*n), why_);
        }
      }
      return true;
    }
  }

  // A pass over the data. *fits is false where it would take more than the ceiling.
  bool look(const std::vector<Input>& inputs, std::vector<Seen>* seen, bool* fits) {
    std::vector<const ir::Value*> values, before;
    uint64_t states = 0, largest = 0;
    for (const Input& input : inputs) {
      values.push_back(input.value);
      before.push_back(reference_->value(input.value->id));
      const int64_t k = input.products[0]->in(1)->type.shape[has_columns_in_rows(*input.products[0]) ? 1 : 0];
      states += 2 * GramObserver::bytes(k);
      largest = std::max(largest, kFactors * GramObserver::bytes(k));
    }
    Samples& samples = *options_.samples;
    std::string error;
    const auto cannot = [&] { return fail("the model cannot be run: " + error, "report the model that shows it"); };
    const std::unique_ptr<PreparedGraph> now = prepare_values(graph_, values, *options_.evaluator, &error);
    if (now == nullptr) return cannot();
    const std::unique_ptr<PreparedGraph> was =
        changed_ ? prepare_values(*reference_, before, *options_.evaluator, &error) : nullptr;
    if (changed_ && was == nullptr) return cannot();
    const std::vector<HostTensor> first = samples.read(0);
    const uint64_t needed = states + largest + now->bytes(first, &error) + (was ? was->bytes(first, &error) : 0);
    if (!error.empty()) return cannot();
    PassOptions options;
    options.memory = options_.memory;
    options.held = options_.held;
    *fits = quant::fits(options, 1, needed, 0);
    if (!*fits) {
      why_ = needed_text(options, needed);
      return true;
    }
    for (size_t s = 0; s < samples.count(); ++s) {
      const std::vector<HostTensor> given = s == 0 ? first : samples.read(s);
      std::vector<TensorView> x, x0;
      if (!now->run(given, &x, &error) || (was != nullptr && !was->run(given, &x0, &error)))
        return fail("sample " + std::to_string(s) + ": " + error, "look at that sample");
      for (size_t i = 0; i < inputs.size(); ++i) observe(x[i], was != nullptr ? &x0[i] : nullptr, &(*seen)[i]);
    }
    return true;
  }

  static void observe(const TensorView& x, const TensorView* before, Seen* seen) {
    const int64_t k = x.dims.empty() ? 0 : x.dims.back();
    const auto count = static_cast<int64_t>(x.bytes.size() / sizeof(float));
    if (k == 0 || count == 0) return;
    const auto* now = reinterpret_cast<const float*>(x.bytes.data());
    seen->moment.add(now, now, count / k, k);
    if (before == nullptr || before->bytes.size() != x.bytes.size()) return;
    const auto* was = reinterpret_cast<const float*>(before->bytes.data());
    std::vector<float> drift(static_cast<size_t>(count));
    for (size_t i = 0; i < drift.size(); ++i) drift[i] = was[i] - now[i];
    seen->drift.add(now, drift.data(), count / k, k);
  }

  bool round_one(const Input& input, Seen* seen) {
    const int64_t k = seen->moment.size();
    if (k == 0) return true;  // no rows: nothing to go by
    std::vector<double> moment = seen->moment.take_mean(), drift;
    if (seen->drift.size() == k && seen->drift.rows() >= kRowsOfChannel * k) drift = seen->drift.take_mean();
    if (!finite(moment) || !finite(drift)) return not_finite(input);
    if (recipe_.scale_gains) move_gains_of(input, &moment, &drift);
    std::vector<std::pair<ir::ConstantPtr, const ir::Node*>> originals;
    for (const ir::Node* n : input.products) originals.emplace_back(n->in(1)->constant, n);
    if (recipe_.descend) {
      round_products(input, moment, drift);
      fit_gains_of(input, originals, moment, drift);
    }
    changed_ = true;
    return true;
  }

  // Factors between the gains of the normalisation that makes the value and the weights: both moments follow.
  void move_gains_of(const Input& input, std::vector<double>* moment, std::vector<double>* drift) {
    ir::Node* const norm = input.value->producer;
    if (norm == nullptr) return;
    const GainedProducts gained =
        gained_products(*norm, nodes_.products, [&](const ir::Node& n) { return !is_settled(n); });
    if (gained.readers.empty()) return;
    const auto k = static_cast<size_t>(std::lround(std::sqrt(static_cast<double>(moment->size()))));
    std::vector<float> magnitudes;
    for (size_t i = 0; i < k; ++i) magnitudes.push_back(static_cast<float>(std::sqrt((*moment)[i * k + i])));
    const float most = *std::max_element(magnitudes.begin(), magnitudes.end());
    if (!std::isnormal(most)) return;
    for (float& m : magnitudes) m = std::max(m, most * kLeastShare);
    const std::vector<float> factors = best_factors(gained, magnitudes, {0.25, 0.5, 0.75, 1.0});
    if (factors.empty()) return;
    move_gains(graph_, gained, factors);
    ++report_.gains_moved;
    for (std::vector<double>* values : {moment, drift}) {
      for (size_t i = 0; i < values->size(); ++i)
        (*values)[i] /= static_cast<double>(factors[i / k]) * static_cast<double>(factors[i % k]);
    }
  }

  void round_products(const Input& input, const std::vector<double>& moment, const std::vector<double>& drift) {
    const auto k = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(moment.size()))));
    const Moment rounding(moment, k, kRounding);
    std::unique_ptr<Moment> correcting;
    if (!drift.empty()) correcting = std::make_unique<Moment>(moment, k, kCorrecting);
    // w + inverse(E x x^T) E x (x0 - x)^T w: its product with x is nearest to that of w with x0.
    const auto wanted = [&](std::vector<double>* w) {
      std::vector<double> shift(w->size(), 0);
      for (size_t i = 0; i < w->size(); ++i) {
        const double* const row = drift.data() + i * w->size();
        for (size_t j = 0; j < w->size(); ++j) shift[i] += row[j] * (*w)[j];
      }
      correcting->solve(shift.data());
      for (size_t i = 0; i < w->size(); ++i) (*w)[i] += shift[i];
    };
    for (ir::Node* n : input.products) {
      const ir::ConstantPtr w = n->in(1)->constant;
      const bool by_rows = has_columns_in_rows(*n);
      if (is_settled(*n)) continue;
      RoundingTarget target;
      target.moment = &rounding;
      if (correcting != nullptr) target.wanted = wanted;
      const ir::ConstantPtr coded = code(*n, *w, by_rows, target);
      if (coded != nullptr) set_weights_of_all(w, by_rows, coded);
    }
  }

  // Products that share weights go on sharing them.
  void set_weights_of_all(const ir::ConstantPtr& was, bool by_rows, const ir::ConstantPtr& now) {
    ir::Value* coded = nullptr;
    for (ir::Node* n : nodes_.products) {
      if (n->in(1)->constant != was || has_columns_in_rows(*n) != by_rows) continue;
      if (coded == nullptr) coded = graph_.add_constant(n->in(1)->name, now);
      graph_.set_input(n, 1, coded);
    }
  }

  // What the codes of `w` mean; null where a weight is not finite.
  ir::ConstantPtr code(const ir::Node& product, const ir::Constant& w, bool by_rows, const RoundingTarget& target) {
    RoundingLoss loss;
    CodedMatrix codes = code_matrix(w, by_rows, target, &loss);
    if (!codes.finite) return nullptr;
    ir::ConstantPtr out = decoded(codes);
    known_[{out.get(), by_rows}] = std::move(codes);
    report_.layers.push_back(
        {layer_name(product), decibels(loss.energy, loss.taken), decibels(loss.nearest, loss.taken)});
    return out;
  }

  static double decibels(double more, double less) { return less > 0 && more > 0 ? 10 * std::log10(more / less) : 0; }

  void fit_gains_of(const Input& input, const std::vector<std::pair<ir::ConstantPtr, const ir::Node*>>& originals,
                    const std::vector<double>& moment, const std::vector<double>& drift) {
    ir::Node* const norm = input.value->producer;
    if (norm == nullptr) return;
    if (gained_products(*norm, nodes_.products, [](const ir::Node&) { return true; }).readers.empty()) return;
    GainFit fit(moment, drift);
    for (const auto& [was, n] : originals)
      fit.add(was == n->in(1)->constant ? *reference_weights(*n) : *was, *n->in(1)->constant, has_columns_in_rows(*n));
    const std::vector<float> factors = fit.factors();
    if (factors.empty()) return;
    divide_gains(graph_, *norm, factors);
    ++report_.gains_fitted;
  }

  // Of a product that was settled before.
  ir::ConstantPtr reference_weights(const ir::Node& n) const {
    return reference_->value(n.out()->id)->producer->in(1)->constant;
  }

  static constexpr uint64_t kFactors = 6;  // matrices of such a size while products are rounded

  ir::Graph& graph_;
  const Int4Options& options_;
  const Recipe& recipe_;
  Int4Report& report_;
  PassLog& log_;
  std::unique_ptr<ir::Graph> reference_;  // as it was
  CodedNodes nodes_;
  KnownCodes known_;
  bool changed_ = false;
  std::string why_;  // the last pass did not fit
};

}  // namespace

void CalibratedInt4::run(ir::Graph& graph, PassLog& log) {
  if (graph_ != nullptr) return;
  graph_ = &graph;
  (void)Rounding(graph, options_, &report_, &log).run();
}

void Int4InBodies::run(ir::Graph& graph, PassLog& log) {
  if (&graph == model_->graph()) return;
  code_nodes(graph, find_coded_nodes(graph, kept_by(model_->recipe()), log), 4, {}, log);
}

}  // namespace vireo::quant
