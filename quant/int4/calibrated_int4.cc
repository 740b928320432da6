#include "quant/int4/calibrated_int4.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>

#include "converter/ir/on_disk.h"
#include "quant/calibrate/forward.h"
#include "quant/calibrate/room.h"
#include "quant/calibrate/statistics.h"
#include "quant/int4/eight_bits.h"
#include "quant/int4/fit_gains.h"
#include "quant/int8/plan.h"
#include "quant/observers/gram.h"
#include "quant/schemes/fold_gains.h"
#include "quant/schemes/weights.h"

namespace vireo::quant {
namespace {

// Of the mean second moment, on the diagonal: for rounding, and for what takes back the loss of layers before.
constexpr double kRounding = 0.01, kCorrecting = 0.1;
constexpr double kAlone = 0.1;  // for rounding by a few samples only
// Rows for each channel, at least, from which drift is learnt: fewer fit what is theirs only.
constexpr int64_t kRowsOfChannel = 8;
// A table that is also the head: how much a row counts as what is read, against what the head makes of it.
constexpr double kRead = 3;
constexpr float kLeastShare = 1e-3f;  // of the largest magnitude of a channel
// Matrices in 8 bits: what they add to all weights at most, and the samples that tell which they are.
constexpr double kRaised = 0.05;
constexpr size_t kToRound = 4, kToJudge = 2;
constexpr auto kWeights = Forward::Weights::kChange;  // gains in front of products

// A value that products multiply.
struct Input {
  ir::Value* value = nullptr;
  std::vector<ir::Node*> products;
};

// The products and lookups that read one matrix: it has one sort of codes for all of them.
struct Matrix {
  ir::Value* value = nullptr;
  bool by_rows = false;
  std::vector<ir::Node*> readers;
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
  const auto* const from = reinterpret_cast<const float*>(w.tensor.bytes.data());
  std::vector<float> to(static_cast<size_t>(element_count(s)));
  for (int64_t i = 0; i < s[0]; ++i) {
    for (int64_t j = 0; j < s[1]; ++j) to[static_cast<size_t>(j * s[0] + i)] = from[i * s[1] + j];
  }
  Shape shape = s;
  std::swap(shape[0], shape[1]);
  return ir::make_constant_of(DType::kF32, shape, std::move(to));
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
    if (options_.samples != nullptr) on_disk_ = make_room(graph_, options_.memory);
    nodes_ = find_coded_nodes(graph_, kept_by(recipe_), log_);
    if (nodes_.products.empty() && nodes_.lookups.empty())
      return fail("the model has no matrix that a product or a lookup reads, so nothing is put into 4 bits",
                  "--quantize int8 takes convolutions, and fp16 halves them");
    if (!take_eight_bits()) return false;
    if ((recipe_.descend || recipe_.scale_gains) && !nodes_.products.empty() && !round_all()) return false;
    code_the_rest();
    reference_.reset();
    code_nodes(graph_, nodes_, 4, std::move(known_), log_);
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
    if (!recipe_.wide && recipe_.descend && !timed("find what takes 8 bits", [&] { return choose_eight_bits(); }))
      return false;
    reference_ = graph_.clone();
    const std::vector<Input> inputs = inputs_of_products();
    if (recipe_.descend && !timed("round tables", [&] { return code_heads(inputs); })) return false;
    code_tables();
    return timed("round layers", [&] { return round_layers(inputs); });
  }

  bool round_layers(const std::vector<Input>& inputs) {
    Forward now(graph_, *options_.evaluator, kWeights), was(*reference_, *options_.evaluator, kWeights);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (options_.tell) options_.tell("round weights", static_cast<double>(i) / static_cast<double>(inputs.size()));
      Seen seen;
      bool fits = true;
      goes_on_ = true;
      if (!look(inputs, i, &now, changed_ ? &was : nullptr, &seen, &fits)) return false;
      ++report_.rounds;
      if (fits && !round_one(inputs[i], &seen)) return false;
      for (size_t j = i; !fits && j < (goes_on_ ? i + 1 : inputs.size()); ++j) {
        for (const ir::Node* n : inputs[j].products) {
          if (!is_settled(*n)) report_.nearest.emplace_back(layer_name(*n), why_);
        }
      }
      if (!goes_on_) break;
    }
    return true;
  }

  template <class Step>
  bool timed(const char* name, const Step& step) {
    const auto start = std::chrono::steady_clock::now();
    const bool went_well = step();
    report_.seconds.emplace_back(name, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return went_well;
  }

  std::vector<Matrix> matrices() const {
    std::vector<Matrix> out;
    const auto add = [&](ir::Node* n, ir::Value* value, bool by_rows) {
      const auto known = std::find_if(out.begin(), out.end(), [&](const Matrix& m) {
        return m.value->constant == value->constant && m.by_rows == by_rows;
      });
      if (known == out.end()) {
        out.push_back({value, by_rows, {n}});
      } else {
        known->readers.push_back(n);
      }
    };
    for (ir::Node* n : nodes_.products) {
      const auto turned = nodes_.turned.find(n->in(1)->constant.get());
      const bool is_turned = turned != nodes_.turned.end();
      add(n, is_turned ? turned->second : n->in(1), is_turned || has_columns_in_rows(*n));
    }
    for (ir::Node* n : nodes_.lookups) add(n, n->in(0), true);
    return out;
  }

  int bits_of(const ir::Node& reader) const { return eight_bits_.count(&reader) != 0 ? 8 : 4; }

  void raise(const Matrix& matrix) {
    eight_bits_.insert(matrix.readers.begin(), matrix.readers.end());
    report_.eight_bits.push_back(layer_name(*matrix.readers[0]));
  }

  // What the recipe says.
  bool take_eight_bits() {
    if (!recipe_.wide) return true;
    std::vector<Matrix> all = matrices();
    for (const std::string& name : *recipe_.wide) {
      const auto found = std::find_if(all.begin(), all.end(), [&](const Matrix& m) {
        return std::any_of(m.readers.begin(), m.readers.end(),
                           [&](const ir::Node* n) { return layer_name(*n) == name; });
      });
      if (found == all.end())
        return fail("the recipe gives 8 bits to the layer \"" + name + "\", and no matrix in codes has such a name",
                    "the report of a conversion lists the layers by name; \"wide\": [] gives 8 bits to none");
      if (bits_of(*found->readers[0]) == 4) raise(*found);
    }
    return true;
  }

  // Each matrix in 4 bits alone, as it would be rounded: those that cost the answers most for their bytes get 8.
  bool choose_eight_bits() {
    report_.recipe.wide.emplace();
    Telling telling = {answers_of(graph_), {}, {}, {}, {}};
    if (telling.answers.empty()) return true;
    bool fits = true;
    if (!prepare(&telling, &fits) || !fits) return fits ? false : log_.failure.empty();
    const std::vector<Matrix> all = matrices();
    const std::vector<Input> inputs = inputs_of_products();
    std::vector<Raise> raises;
    uint64_t weights = bytes_of_others(all);
    for (const Matrix& m : all) {
      const Shape& s = m.value->type.shape;
      const int64_t k = s[m.by_rows ? 1 : 0], n = s[m.by_rows ? 0 : 1];
      const uint64_t four = bytes_of_codes(k, n, 4), eight = bytes_of_codes(k, n, 8);
      weights += four;
      raises.push_back({0, eight - std::min(four, eight)});
    }
    // Tables that no product reads; then the others, an input at a time: they share what the data show of it.
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].readers[0]->op != Op::kGather) continue;
      const CodedMatrix codes = code_matrix(*all[i].value->constant, true, 4);
      if (codes.finite && !measure(all[i], decoded(codes), telling, &raises[i].loss)) return false;
    }
    Forward way(graph_, *options_.evaluator, kWeights);
    for (size_t at = 0; at < inputs.size(); ++at) {
      if (options_.tell)
        options_.tell("find what takes 8 bits", static_cast<double>(at) / static_cast<double>(inputs.size()));
      std::vector<double> moment;
      if (!moment_of(inputs, at, telling, &way, &moment)) return false;
      for (size_t i = 0; i < all.size(); ++i) {
        if (all[i].readers[0]->op == Op::kGather || all[i].readers[0]->in(0) != inputs[at].value) continue;
        const ir::ConstantPtr now = rounded_alone(all[i], inputs[at], moment);
        if (now != nullptr && !measure(all[i], now, telling, &raises[i].loss)) return false;
      }
    }
    for (const size_t i : best_raises(raises, static_cast<uint64_t>(kRaised * static_cast<double>(weights)))) {
      raise(all[i]);
      report_.recipe.wide->push_back(layer_name(*all[i].readers[0]));
    }
    return true;
  }

  // What tells which matrices take 8 bits.
  struct Telling {
    std::vector<const ir::Value*> answers;
    std::vector<bool> are_scores;
    std::vector<std::vector<HostTensor>> rounding;  // samples by which matrices are rounded
    std::vector<std::vector<HostTensor>> judging;   // and others, on which the answers are compared
    std::vector<std::vector<HostTensor>> were;      // the answers
  };

  bool cannot_run(const std::string& error) {
    return fail("the model cannot be run: " + error, "report the model that shows it");
  }

  bool prepare(Telling* t, bool* fits) {
    Samples& samples = *options_.samples;
    for (const ir::Value* v : t->answers)
      t->are_scores.push_back(std::find(nodes_.products.begin(), nodes_.products.end(), v->producer) !=
                              nodes_.products.end());
    const size_t all = samples.count(), count = std::min(kToRound + kToJudge, all);
    for (size_t s = 0; s < count; ++s) (s % 3 == 1 ? t->judging : t->rounding).push_back(samples.read(s * all / count));
    if (t->judging.empty()) t->judging = t->rounding;
    *fits = count > 0;
    if (!*fits) return true;
    // The file of the whole model that is run, and its weights as they are packed.
    *fits = may_take(2 * bytes_of_others({}));
    if (!*fits) return true;
    std::string error;
    const std::unique_ptr<PreparedGraph> now = prepare_values(graph_, t->answers, *options_.evaluator, &error);
    const uint64_t run = now == nullptr ? 0 : now->bytes(t->judging[0], &error);
    if (!error.empty()) return cannot_run(error);
    *fits = may_take(2 * run);
    std::vector<TensorView> y;
    for (size_t s = 0; s < t->judging.size() && *fits; ++s) {
      if (!now->run(t->judging[s], &y, &error)) return fail("a sample cannot be run: " + error, "look at the samples");
      t->were.emplace_back();
      for (const TensorView& v : y) t->were[s].push_back({v.dtype, v.dims, {v.bytes.begin(), v.bytes.end()}, {}});
    }
    return true;
  }

  PassOptions pass_options() const {
    PassOptions options;
    options.memory = options_.memory;
    std::vector<const ir::Graph*> graphs = {&graph_};
    if (reference_ != nullptr) graphs.push_back(reference_.get());
    options.held = held_besides(std::move(graphs), options_.held);
    return options;
  }

  bool may_take(uint64_t needed) const { return quant::fits(pass_options(), 1, needed, 0); }

  bool moment_of(const std::vector<Input>& inputs, size_t at, const Telling& t, Forward* way,
                 std::vector<double>* moment) {
    std::vector<const ir::Value*> later;
    for (size_t j = at + 1; j < inputs.size(); ++j) later.push_back(inputs[j].value);
    std::string error;
    if (!way->prepare({inputs[at].value}, later, &error)) return cannot_run(error);
    Seen seen;
    std::vector<TensorView> x;
    for (size_t s = 0; s < t.rounding.size(); ++s) {
      if (!way->run(s, t.rounding[s], &x, &error))
        return fail("a sample cannot be run: " + error, "look at the samples");
      observe(x[0], nullptr, &seen);
    }
    way->finish();
    *moment = seen.moment.size() == 0 ? std::vector<double>() : seen.moment.take_mean();
    return finite(*moment) || not_finite(inputs[at]);
  }

  // With the gains moved that the data ask for; null where there is nothing to go by.
  ir::ConstantPtr rounded_alone(const Matrix& m, const Input& input, std::vector<double> moment) const {
    const Shape& s = m.value->type.shape;
    const int64_t k = s[m.by_rows ? 1 : 0];
    if (moment.size() != static_cast<size_t>(k * k)) return nullptr;
    const bool is_head = table_of(*m.readers[0]) != nullptr;
    std::vector<float> factors = is_head || !recipe_.scale_gains ? std::vector<float>() : factors_of(input, moment);
    if (!factors.empty()) divide(factors, &moment);
    const Moment target(std::move(moment), k, is_head ? kRead : kAlone);
    RoundingLoss loss;
    const ir::ConstantPtr w =
        factors.empty() ? m.value->constant : multiply_rows(*m.value->constant, m.by_rows, factors);
    const CodedMatrix codes = code_matrix(*w, m.by_rows, 4, {&target, {}}, &loss);
    if (!codes.finite) return nullptr;
    for (float& f : factors) f = 1 / f;
    return factors.empty() ? decoded(codes) : multiply_rows(*decoded(codes), m.by_rows, factors);
  }

  // What the answers lose with `now` in place of the matrix.
  bool measure(const Matrix& m, const ir::ConstantPtr& now, const Telling& t, double* lost) {
    const std::unique_ptr<ir::Graph> rounded = with_matrix(m, now);
    std::vector<const ir::Value*> values;
    for (const ir::Value* v : t.answers) values.push_back(rounded->value(v->id));
    std::string error;
    const std::unique_ptr<PreparedGraph> program = prepare_values(*rounded, values, *options_.evaluator, &error);
    if (program == nullptr) return cannot_run(error);
    AnswerLoss loss;
    std::vector<TensorView> y;
    for (size_t s = 0; s < t.judging.size(); ++s) {
      if (!program->run(t.judging[s], &y, &error))
        return fail("a sample cannot be run: " + error, "look at the samples");
      for (size_t i = 0; i < y.size(); ++i) {
        const HostTensor& was = t.were[s][i];
        loss.add({was.dtype, was.dims, {was.bytes.data(), was.bytes.size()}}, y[i], t.are_scores[i]);
      }
    }
    *lost = std::isfinite(loss.value()) ? loss.value() : 0;
    return true;
  }

  // Of constants that are none of these.
  uint64_t bytes_of_others(const std::vector<Matrix>& matrices) const {
    std::set<const ir::Constant*> known;
    for (const Matrix& m : matrices) {
      for (const ir::Node* n : m.readers) known.insert(n->in(n->op == Op::kGather ? 0 : 1)->constant.get());
    }
    uint64_t sum = 0;
    for (const ir::Node& n : graph_.nodes()) {
      for (const ir::Value* v : n.inputs) {
        if (v != nullptr && v->constant != nullptr && known.insert(v->constant.get()).second)
          sum += v->constant->tensor.bytes.size();
      }
    }
    return sum;
  }

  std::unique_ptr<ir::Graph> with_matrix(const Matrix& m, const ir::ConstantPtr& now) const {
    std::unique_ptr<ir::Graph> out = graph_.clone();
    for (const ir::Node* n : m.readers) {
      ir::Node* const reader = out->value(n->out()->id)->producer;
      const bool is_lookup = n->op == Op::kGather;
      const bool is_turned = !is_lookup && nodes_.turned.count(n->in(1)->constant.get()) != 0;
      out->set_input(reader, is_lookup ? 0 : 1, out->add_constant(m.value->name, is_turned ? turned(*now) : now));
    }
    return out;
  }

  // Matrices in 8 bits that no data rounded.
  void code_the_rest() {
    for (const Matrix& m : matrices()) {
      if (bits_of(*m.readers[0]) == 4 || known_.count({m.value->constant.get(), m.by_rows}) != 0) continue;
      known_[{m.value->constant.get(), m.by_rows}] = code_matrix(*m.value->constant, m.by_rows, 8);
    }
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

  // A table that is the head as well comes before all layers: every one of them sees what its rows become. The way to
  // what the head multiplies leads through the others' inputs, a step each.
  bool code_heads(const std::vector<Input>& inputs) {
    const auto heads_of = [&](const Input& input) {
      std::vector<ir::Node*> out;
      for (ir::Node* n : input.products) {
        if (table_of(*n) != nullptr) out.push_back(n);
      }
      return out;
    };
    size_t count = 0;  // of inputs, up to the last one with a head
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!heads_of(inputs[i]).empty()) count = i + 1;
    }
    std::vector<std::pair<ir::Node*, std::vector<double>>> found;
    Forward now(graph_, *options_.evaluator, kWeights);
    for (size_t i = 0; i < count; ++i) {
      const std::vector<ir::Node*> heads = heads_of(inputs[i]);
      Seen seen;
      bool fits = true;
      goes_on_ = true;
      if (!look(inputs, i, &now, nullptr, heads.empty() ? nullptr : &seen, &fits)) return false;
      const std::vector<double> moment = seen.moment.size() == 0 ? std::vector<double>() : seen.moment.take_mean();
      if (!finite(moment)) return not_finite(inputs[i]);
      for (ir::Node* n : heads) {
        if (!fits) report_.nearest.emplace_back(layer_name(*n), why_);  // with all other tables
        if (!moment.empty()) found.emplace_back(n, moment);
      }
      for (size_t j = i + 1; !goes_on_ && j < count; ++j) {
        for (const ir::Node* n : heads_of(inputs[j])) report_.nearest.emplace_back(layer_name(*n), why_);
      }
      if (!goes_on_) break;
    }
    for (auto& [n, values] : found) {
      const ir::Value* const table = table_of(*n);
      if (known_.count({table->constant.get(), true}) != 0) continue;
      const Moment moment(std::move(values), table->type.shape[1], kRead);
      const ir::ConstantPtr now_coded = code(*n, *table->constant, true, {&moment, {}});
      if (now_coded != nullptr) set_table(*table, now_coded);
    }
    return true;
  }

  // All other tables have the nearest codes. What a row is off by is drift, which the layers take back.
  void code_tables() {
    for (const ir::Node* n : nodes_.lookups) {
      const ir::Value& table = *n->in(0);
      if (known_.count({table.constant.get(), true}) != 0) continue;
      CodedMatrix codes = code_matrix(*table.constant, true, bits_of(*n));
      if (!codes.finite) continue;
      const ir::ConstantPtr now = laid(decoded(codes));
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
        graph_.set_input(n, 1, graph_.add_constant(n->in(1)->name, laid(turned(*now))));
        turned_now[n->in(1)->constant.get()] = coded;
      } else {
        turned_now[found->first] = found->second;
      }
    }
    nodes_.turned = std::move(turned_now);
    changed_ = true;
  }

  // A step of both graphs over the data, to input `i`. *fits is false where it would take more than the ceiling.
  bool look(const std::vector<Input>& inputs, size_t i, Forward* now, Forward* was, Seen* seen, bool* fits) {
    std::vector<const ir::Value*> later, later_before;
    for (size_t j = i + 1; j < inputs.size(); ++j) {
      later.push_back(inputs[j].value);
      later_before.push_back(reference_->value(inputs[j].value->id));
    }
    const ir::Node& reader = *inputs[i].products[0];
    const int64_t k = reader.in(1)->type.shape[has_columns_in_rows(reader) ? 1 : 0];
    std::string error;
    if (!now->prepare({inputs[i].value}, later, &error)) return cannot_run(error);
    if (was != nullptr && !was->prepare({reference_->value(inputs[i].value->id)}, later_before, &error))
      return cannot_run(error);
    Samples& samples = *options_.samples;
    const std::vector<HostTensor> first = samples.read(0);
    const uint64_t run = now->bytes(first, &error) + (was != nullptr && error.empty() ? was->bytes(first, &error) : 0);
    if (!error.empty()) return cannot_run(error);
    const uint64_t needed =
        seen == nullptr ? run : std::max(run, bytes_to_round(inputs[i])) + (2 + kFactors) * GramObserver::bytes(k);
    *fits = may_take(needed);
    if (!*fits) {
      why_ = needed_text(pass_options(), needed);
      // The way goes on where only what is observed does not fit: else the next step would take this one's weights too.
      goes_on_ = may_take(run);
      if (!goes_on_) return true;
      seen = nullptr;
    }
    for (size_t s = 0; s < samples.count(); ++s) {
      const std::vector<HostTensor> given = s == 0 ? first : samples.read(s);
      std::vector<TensorView> x, x0;
      if (!now->run(s, given, &x, &error) || (was != nullptr && !was->run(s, given, &x0, &error)))
        return fail("sample " + std::to_string(s) + ": " + error, "look at that sample");
      if (seen != nullptr) observe(x[0], was != nullptr ? &x0[0] : nullptr, seen);
      if (s > 0) continue;
      const uint64_t left = (now->left() + (was != nullptr ? was->left() : 0)) * (samples.count() - 1);
      if (may_take(left + (seen == nullptr ? 0 : kFactors * GramObserver::bytes(k)))) continue;
      now->forget();
      if (was != nullptr) was->forget();
    }
    now->finish();
    if (was != nullptr) was->finish();
    return true;
  }

  // What rounding the products' weights takes behind the step: those that meet a gain together, in another form, and
  // one matrix as it was, as it is, and in codes.
  uint64_t bytes_to_round(const Input& input) const {
    uint64_t sum = 0, most = 0;
    for (const ir::Node* n : input.products) {
      const uint64_t bytes = n->in(1)->constant->tensor.bytes.size();
      sum += bytes;
      most = std::max(most, bytes);
    }
    return (input.products.size() == 1 ? 0 : sum) + 2 * most + most / 4;
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

  // Factors between the gains of the normalisation that makes the value and the weights; empty: none win anything.
  std::vector<float> factors_of(const Input& input, const std::vector<double>& moment) const {
    const GainedProducts gained = gained_by(input);
    if (gained.readers.empty()) return {};
    const auto k = static_cast<size_t>(std::lround(std::sqrt(static_cast<double>(moment.size()))));
    std::vector<float> magnitudes;
    for (size_t i = 0; i < k; ++i) magnitudes.push_back(static_cast<float>(std::sqrt(moment[i * k + i])));
    const float most = *std::max_element(magnitudes.begin(), magnitudes.end());
    if (!std::isnormal(most)) return {};
    for (float& m : magnitudes) m = std::max(m, most * kLeastShare);
    return best_factors(gained, magnitudes, {0.25, 0.5, 0.75, 1.0});
  }

  GainedProducts gained_by(const Input& input) const {
    ir::Node* const norm = input.value->producer;
    if (norm == nullptr) return {};
    return gained_products(*norm, nodes_.products, [&](const ir::Node& n) { return !is_settled(n); });
  }

  static void divide(const std::vector<float>& factors, std::vector<double>* values) {
    const size_t k = factors.size();
    for (size_t i = 0; i < values->size(); ++i)
      (*values)[i] /= static_cast<double>(factors[i / k]) * static_cast<double>(factors[i % k]);
  }

  // Both moments follow the gains.
  void move_gains_of(const Input& input, std::vector<double>* moment, std::vector<double>* drift) {
    const std::vector<float> factors = factors_of(input, *moment);
    if (factors.empty()) return;
    move_gains(graph_, gained_by(input), factors);
    ++report_.gains_moved;
    divide(factors, moment);
    divide(factors, drift);
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
    CodedMatrix codes = code_matrix(w, by_rows, bits_of(product), target, &loss);
    if (!codes.finite) return nullptr;
    ir::ConstantPtr out = laid(decoded(codes));
    known_[{out.get(), by_rows}] = std::move(codes);
    report_.layers.push_back(
        {layer_name(product), decibels(loss.energy, loss.taken), decibels(loss.nearest, loss.taken)});
    return out;
  }

  // Where the other weights lie.
  ir::ConstantPtr laid(const ir::ConstantPtr& c) const { return on_disk_ ? ir::on_disk(c) : c; }

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
  std::set<const ir::Node*> eight_bits_;  // readers of matrices in 8 bits
  bool changed_ = false;
  bool goes_on_ = true;   // false: a step did not fit, and the way ends before it
  bool on_disk_ = false;  // large weights lie on the disk
  std::string why_;       // the last pass did not fit
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
