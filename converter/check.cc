#include "converter/check.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "converter/check_inputs.h"
#include "converter/emit/model_file.h"
#include "converter/ir/random.h"
#include "converter/passes/recognise/recognise_attention.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/traits.h"

namespace vireo {
namespace {

// A value in the middle between two codes may become either, by sums in another order; what stands behind it moves by a
// step, of 1/255 of the span where codes have 8 bits. Four such steps may meet.
constexpr double kStepsOfCodes = 1.0 / 64;

bool rounds_to_codes(const ir::Node& n) {
  return is_own(n.op) || n.op == Op::kQuantizeLinear || n.op == Op::kDynamicQuantizeLinear ||
         n.op == Op::kQLinearConv || n.op == Op::kQLinearMatMul;
}

bool is_code(DType t) { return dtype_is_integer(t) && dtype_bits(t) >= 8 && dtype_bits(t) <= 16; }

// `reference` with the numbers of `now` in place of its NaNs.
HostTensor without_nans(const HostTensor& reference, const HostTensor& now) {
  HostTensor out = reference;
  if (out.bytes.size() != now.bytes.size() || out.dtype != now.dtype || !dtype_is_float(out.dtype)) return out;
  const size_t size = static_cast<size_t>(dtype_bits(out.dtype)) / 8;
  for (size_t at = 0; size > 0 && at + size <= out.bytes.size(); at += size) {
    if (std::isnan(read_real(out.dtype, out.bytes.data() + at, 0)))
      std::memcpy(out.bytes.data() + at, now.bytes.data() + at, size);
  }
  return out;
}

}  // namespace

double difference(const HostTensor& a, const HostTensor& reference, double atol, double rtol, bool* within) {
  const double infinite = std::numeric_limits<double>::infinity();
  *within = false;
  if (a.dtype != reference.dtype || a.dims != reference.dims || a.bytes.size() != reference.bytes.size())
    return infinite;
  const bool real =
      a.dtype == DType::kF32 || a.dtype == DType::kF64 || a.dtype == DType::kF16 || a.dtype == DType::kBF16;
  if (!real) {
    *within = a.bytes == reference.bytes && a.strings == reference.strings;
    return *within ? 0 : infinite;
  }
  // Half the digits are not there to be compared.
  if (dtype_bits(a.dtype) == 16) atol = std::max(atol, 1e-2), rtol = std::max(rtol, 1e-2);
  const int64_t count = static_cast<int64_t>(a.bytes.size()) * 8 / dtype_bits(a.dtype);
  double top = 0, worst = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double r = read_real(reference.dtype, reference.bytes.data(), i);
    if (std::isfinite(r)) top = std::max(top, std::fabs(r));
  }
  *within = true;
  for (int64_t i = 0; i < count; ++i) {
    const double x = read_real(a.dtype, a.bytes.data(), i), r = read_real(reference.dtype, reference.bytes.data(), i);
    if (std::isnan(x) && std::isnan(r)) continue;
    const double d = x == r ? 0 : std::fabs(x - r);
    if (!std::isfinite(d) || d > atol * top + rtol * std::fabs(r)) *within = false;
    worst = std::max(worst, std::isfinite(d) ? (top > 0 ? d / top : d) : infinite);
  }
  return worst;
}

double code_difference(const HostTensor& a, const HostTensor& reference, double atol, bool* within) {
  *within = false;
  if (a.dtype != reference.dtype || a.dims != reference.dims || a.bytes.size() != reference.bytes.size())
    return std::numeric_limits<double>::infinity();
  const int64_t count = static_cast<int64_t>(a.bytes.size()) * 8 / dtype_bits(a.dtype);
  int64_t low = 0, high = 0, worst = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t x = read_integer(a.dtype, a.bytes.data(), i), r = read_integer(a.dtype, reference.bytes.data(), i);
    low = i == 0 ? r : std::min(low, r);
    high = i == 0 ? r : std::max(high, r);
    worst = std::max(worst, std::abs(x - r));
  }
  const auto span = static_cast<double>(std::max<int64_t>(high - low, 1));
  *within = worst <= 1 || static_cast<double>(worst) <= atol * span;
  return static_cast<double>(worst) / span;
}

bool PassChecker::build(const ir::Graph& graph, const std::vector<std::string>& taps, FileBytes* bytes,
                        std::string* error) const {
  std::vector<const ir::Value*> values;
  for (const std::string& name : taps) {
    for (const ir::Node& n : graph.nodes()) {
      for (const ir::Value* v : n.outputs) {
        if (v != nullptr && v->name == name) values.push_back(v);
      }
    }
  }
  return emit::write_with_taps(graph, values, bytes, error);
}

bool PassChecker::run(const FileBytes& bytes, Results* results, std::string* error) const {
  results->clear();
  for (const std::vector<HostTensor>& in : inputs_) {
    results->emplace_back();
    if (!options_.check->run({bytes.data(), bytes.size()}, in, &results->back(), error)) return false;
  }
  return true;
}

bool PassChecker::evaluate(const ir::Graph& graph, const std::vector<std::string>& taps, Results* results,
                           std::string* error) const {
  FileBytes file;
  return build(graph, taps, &file, error) && run(file, results, error);
}

bool PassChecker::make_up_inputs(const ir::Graph& graph, const FileBytes& file) {
  inputs_.resize(1);
  std::string first, error, missing;
  for (const MadeUp& how : ways_to_make_up(graph)) {
    if (!make_inputs(graph, options_, how, &inputs_[0], &missing)) {
      diagnostics_->error(Code::kCannotEvaluate, "input " + missing + ", for which --check has no random values",
                          "give it inputs: --check=REF.npz");
      return false;
    }
    if (run(file, &reference_, &error)) return true;
    if (first.empty()) first = error;
  }
  const std::string steering = steering_inputs(graph);
  diagnostics_->error(
      Code::kCannotEvaluate, "the imported graph does not run on inputs that --check makes up: " + first,
      "give it inputs that it takes: --check=REF.npz" + (steering.empty() ? "" : "; what steers it is " + steering));
  return false;
}

bool PassChecker::begin(const ir::Graph& graph) {
  inputs_ = options_.check_inputs;
  random_ = ir::random_outputs(graph);
  const std::set<const ir::Value*> rounded = ir::values_behind(graph, rounds_to_codes);
  for (const ir::Value* v : graph.outputs()) rounded_.push_back(rounded.count(v) != 0);
  std::string error;
  FileBytes file;
  const bool built = build(graph, {}, &file, &error);
  if (built && inputs_.empty()) {
    if (!make_up_inputs(graph, file)) return false;
  } else if (!built || !run(file, &reference_, &error)) {
    diagnostics_->error(Code::kCannotEvaluate,
                        "the imported graph cannot be run, so passes cannot be checked: " + error);
    return false;
  }
  before_ = graph.clone();
  if (options_.check_layers) first_ = graph.clone();
  return true;
}

double PassChecker::compare(size_t i, const HostTensor& now, const HostTensor& then, double atol,
                            const passes::Pass* pass, bool* within) const {
  if (rounded_[i] && is_code(then.dtype)) return code_difference(now, then, atol, within);
  if (rounded_[i]) atol = std::max(atol, kStepsOfCodes);
  // A query whose keys are all masked is 0 for Attention and NaN for its parts, and so is all that is made of it.
  const bool numbers_for_nan = pass == &passes::kRecogniseAttention;
  return difference(now, numbers_for_nan ? without_nans(then, now) : then, atol, options_.check_rtol, within);
}

bool PassChecker::after(const char* pass, const ir::Graph& graph, PassLog* report) {
  if (report->changes == 0) return true;
  Results now;
  std::string error;
  if (!evaluate(graph, {}, &now, &error)) {
    diagnostics_->error(Code::kCheckFailed, std::string("after pass ") + pass + " the graph cannot be run: " + error,
                        "convert without it, and report the model that shows it");
    return false;
  }
  report->checked = true;
  const passes::Pass* self = passes::find_pass(pass);
  // What a stage rounds, later passes round again from sums in another order.
  for (const auto& stage : options_.stages) {
    if (stage->name() == pass) stage_atol_ = std::max(stage_atol_, stage->check_atol());
  }
  const double own = std::max(stage_atol_, self == nullptr ? 0 : self->check_atol);
  const double atol = std::max(options_.check_atol, own);
  std::string wrong;
  for (size_t c = 0; c < now.size(); ++c) {
    for (size_t i = 0; i < now[c].size(); ++i) {
      if (random_[i]) continue;
      bool within = false;
      const double d = compare(i, now[c][i], reference_[c][i], atol, self, &within);
      report->max_difference = std::max(report->max_difference, d);
      if (!within && wrong.empty())
        wrong = "output \"" + graph.output_names()[i] + "\" differs by " + std::to_string(d) + " of its largest value";
    }
  }
  if (!wrong.empty()) {
    Diagnostic& d = diagnostics_->error(Code::kCheckFailed,
                                        std::string("pass ") + pass + " changed what the graph computes: " + wrong,
                                        "convert without it, and report the model that shows it");
    const std::string first = blame(graph);
    if (!first.empty()) d.notes.push_back(first);
    return false;
  }
  reference_ = std::move(now);
  before_ = graph.clone();
  return true;
}

// Values of one name mean the same before and after; the first that differs, in the order of execution, has the culprit
// as its maker.
std::string PassChecker::blame(const ir::Graph& graph) const {
  std::set<std::string> old_names;
  for (const ir::Node& n : before_->nodes()) {
    for (const ir::Value* v : n.outputs) {
      if (v != nullptr && !v->unused()) old_names.insert(v->name);
    }
  }
  const std::set<const ir::Value*> random = ir::random_values(graph);
  std::vector<std::string> taps;
  std::vector<std::string> makers;
  for (const ir::Node& n : graph.nodes()) {
    for (const ir::Value* v : n.outputs) {
      if (v == nullptr || v->unused() || v->name.empty() || random.count(v) != 0) continue;
      if (old_names.erase(v->name) == 0) continue;
      taps.push_back(v->name);
      makers.push_back(passes::kind_of(n) + " node \"" + n.name + "\"");
    }
  }
  Results old_results, new_results;
  std::string error;
  if (!evaluate(*before_, taps, &old_results, &error) || !evaluate(graph, taps, &new_results, &error)) return "";
  const size_t outputs = graph.outputs().size();
  for (size_t k = 0; k < taps.size(); ++k) {
    for (size_t c = 0; c < new_results.size(); ++c) {
      bool within = false;
      difference(new_results[c][outputs + k], old_results[c][outputs + k], options_.check_atol, options_.check_rtol,
                 &within);
      if (!within) return "the first value that differs is \"" + taps[k] + "\", made by " + makers[k];
    }
  }
  return "";
}

namespace {

// How the elements of one value stand to those of the other: as they are; or channels are last in the new one, where
// they were the second dimension; or the other way round. choose_layout keeps a value's name when it moves channels.
enum class Order { kSame, kChannelsLast, kChannelsSecond };

std::vector<int64_t> moved(std::vector<int64_t> dims, Order order) {
  if (order == Order::kChannelsLast) std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  if (order == Order::kChannelsSecond) std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  return dims;
}

// Sums over the elements of one value, and over all inputs of the check.
struct Sums {
  Order order = Order::kSame;
  double signal = 0, noise = 0, max_abs = 0, max_value = 0;
  bool compared = false;

  // Does nothing where the two are no answer to each other: another shape, a type that is not real.
  void add(const HostTensor& now, const HostTensor& then) {
    const auto real = [](DType t) {
      return t == DType::kF32 || t == DType::kF64 || t == DType::kF16 || t == DType::kBF16;
    };
    if (!real(now.dtype) || !real(then.dtype)) return;
    if (order != Order::kSame && then.dims.size() < 3) return;
    if (now.dims != moved(then.dims, order)) return;
    const int64_t count = static_cast<int64_t>(then.bytes.size()) * 8 / dtype_bits(then.dtype);
    compared = true;
    if (count == 0) return;
    // A picture is `rows` by `columns` in the old one and the other way round in the new one.
    const int64_t batch = then.dims.empty() ? 1 : then.dims[0], picture = count / batch;
    const int64_t columns = order == Order::kChannelsSecond ? then.dims.back()
                            : order == Order::kChannelsLast ? picture / then.dims[1]
                                                            : picture;
    const int64_t rows = picture / columns;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t in = i % picture, at = i - in + in % columns * rows + in / columns;
      add(read_real(now.dtype, now.bytes.data(), order == Order::kSame ? i : at),
          read_real(then.dtype, then.bytes.data(), i));
    }
  }

 private:
  void add(double x, double r) {
    if (std::isfinite(r)) signal += r * r, max_value = std::max(max_value, std::fabs(r));
    if (x == r || (std::isnan(x) && std::isnan(r))) return;
    const double d = std::isfinite(x) && std::isfinite(r) ? x - r : std::numeric_limits<double>::infinity();
    noise += d * d;
    max_abs = std::max(max_abs, std::fabs(d));
  }
};

constexpr int64_t kTappedBytes = 256 << 20;  // values that are kept at once, of either graph

// Values that nodes of `g` make, by their names; those that two bear are left out.
std::map<std::string, int64_t> made_by_name(const ir::Graph& g) {
  std::map<std::string, int64_t> bytes;
  std::set<std::string> twice;
  for (const ir::Node& n : g.nodes()) {
    for (const ir::Value* v : n.outputs) {
      if (v == nullptr || v->unused() || v->name.empty()) continue;
      int64_t count = dtype_bytes(v->type.dtype, 1);
      for (int i = 0; i < v->type.shape.rank; ++i) {
        const Interval range = g.dims().interval(v->type.shape[i]);
        count *= std::clamp<int64_t>(range.open() ? 64 : range.hi, 1, kTappedBytes);
        count = std::min(count, kTappedBytes);
      }
      if (!bytes.emplace(v->name, count).second) twice.insert(v->name);
    }
  }
  for (const std::string& name : twice) bytes.erase(name);
  return bytes;
}

}  // namespace

bool PassChecker::layers(std::vector<LayerReport>* layers, std::string* error) const {
  const std::map<std::string, int64_t> old_values = made_by_name(*first_);
  std::map<std::string, int64_t> values = made_by_name(*before_);
  for (const ir::Value* v : ir::random_values(*first_)) values.erase(v->name);
  std::vector<std::string> names;
  for (const ir::Node& n : before_->nodes()) {
    for (const ir::Value* v : n.outputs) {
      if (v != nullptr && values.count(v->name) != 0 && old_values.count(v->name) != 0) names.push_back(v->name);
    }
  }
  // A model's values together may be many times what it runs in, so they are compared in lots.
  for (size_t at = 0; at < names.size();) {
    std::vector<std::string> taps;
    for (int64_t bytes = 0; at < names.size() && (taps.empty() || bytes < kTappedBytes); ++at) {
      taps.push_back(names[at]);
      bytes += std::max(values.at(names[at]), old_values.at(names[at]));
    }
    Results then, now;
    if (!evaluate(*first_, taps, &then, error) || !evaluate(*before_, taps, &now, error)) return false;
    const size_t outputs = before_->outputs().size();  // taps are outputs behind these
    for (size_t k = 0; k < taps.size(); ++k) {
      // Where extents are equal (as many channels as rows), the shape does not tell which order it is; the wrong one
      // has as much noise as signal.
      Sums sums;
      for (const Order order : {Order::kSame, Order::kChannelsLast, Order::kChannelsSecond}) {
        Sums tried;
        tried.order = order;
        for (size_t c = 0; c < now.size(); ++c) tried.add(now[c][outputs + k], then[c][outputs + k]);
        if (tried.compared && (!sums.compared || tried.noise < sums.noise)) sums = tried;
        if (sums.compared && sums.noise == 0) break;
      }
      if (!sums.compared) continue;
      const double sqnr =
          sums.noise > 0 ? 10 * std::log10(sums.signal / sums.noise) : std::numeric_limits<double>::infinity();
      layers->push_back({taps[k], sums.max_abs, sums.max_value, sqnr});
    }
  }
  std::stable_sort(layers->begin(), layers->end(),
                   [](const LayerReport& a, const LayerReport& b) { return a.sqnr_db < b.sqnr_db; });
  return true;
}

}  // namespace vireo
