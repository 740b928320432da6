// vireo eval: models on labelled data, side by side.
#include <math.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "c_api/cli/app.h"
#include "c_api/cli/file.h"
#include "c_api/cli/inputs.h"
#include "c_api/cli/nearest.h"
#include "c_api/cli/options.h"
#include "converter/cli/detector.h"
#include "converter/cli/evaluation.h"
#include "converter/cli/metric_command.h"
#include "converter/cli/report_data.h"
#include "converter/cli/verbs.h"

namespace vireo::cli {
namespace {

constexpr size_t kFewSamples = 30;

struct EvalOptions {
  std::vector<std::string> models, devices, metrics, bounds;
  DataOptions data;
  std::string output, decode, report, command;
  double command_seconds = 60;
  int threads = 0;
  uint64_t samples = 0, worst = 0;
  bool json = false;
};

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const quant::MetricKind& kind : quant::metric_kinds()) names.emplace_back(kind.name);
  return names;
}

const char* data_for(quant::Needs needs) {
  switch (needs) {
    case quant::Needs::kLabel:
      return "a class for each sample";
    case quant::Needs::kTokens:
      return "tokens";
    case quant::Needs::kPixels:
      return "a class for each pixel";
    case quant::Needs::kBoxes:
      return "boxes with their classes";
    case quant::Needs::kText:
      return "a text for each sample";
    case quant::Needs::kReference:
      return "a second model: the first one is what the others are compared with";
  }
  return "";
}

// --metric, given once or often, with commas between several.
std::vector<const quant::MetricKind*> metrics_given(const std::vector<std::string>& lists) {
  std::vector<const quant::MetricKind*> kinds;
  for (const std::string& list : lists) {
    for (size_t at = 0; at <= list.size();) {
      const size_t end = std::min(list.find(',', at), list.size());
      const std::string name = list.substr(at, end - at);
      at = end + 1;
      const quant::MetricKind* const kind = quant::find_metric(name);
      if (kind == nullptr) {
        std::string all;
        for (const std::string& known : metric_names()) all += (all.empty() ? "" : ", ") + known;
        throw Failure("there is no metric '" + name + "'", did_you_mean(name, metric_names()) + "there are: " + all);
      }
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    }
  }
  return kinds;
}

bool can_take(const quant::MetricKind& kind, const std::vector<std::unique_ptr<Candidate>>& candidates) {
  if (kind.needs == quant::Needs::kReference) return candidates.size() > 1;
  return candidates[0]->data().has(kind.needs);
}

// What the data are for, where nothing is asked for: the first metric that they have all for.
const quant::MetricKind* fitting_metric(const std::vector<std::unique_ptr<Candidate>>& candidates) {
  for (const quant::MetricKind& kind : quant::metric_kinds()) {
    if (can_take(kind, candidates)) return &kind;
  }
  return nullptr;
}

std::vector<const quant::MetricKind*> choose_metrics(const EvalOptions& options,
                                                     const std::vector<std::unique_ptr<Candidate>>& candidates) {
  std::vector<const quant::MetricKind*> kinds = metrics_given(options.metrics);
  if (kinds.empty() && options.command.empty()) {
    const quant::MetricKind* const kind = fitting_metric(candidates);
    if (kind == nullptr) {
      throw Failure(options.data.data + " has nothing to judge a model by: no array 'label', no 'boxes' with 'labels'",
                    "--label KEY names the labels; without any, give two models to compare them");
    }
    kinds.push_back(kind);
  }
  for (const quant::MetricKind* kind : kinds) {
    if (kind->needs == quant::Needs::kBoxes && options.decode.empty()) {
      throw Failure("metric " + std::string(kind->name) + " needs to know how the outputs are boxes",
                    "--decode final, yolo8 or a .json file says it");
    }
    if (can_take(*kind, candidates)) continue;
    const quant::MetricKind* const other = fitting_metric(candidates);
    throw Failure("metric " + std::string(kind->name) + " needs " + data_for(kind->needs) + ", which " +
                      (kind->needs == quant::Needs::kReference ? "is not given" : options.data.data + " has not"),
                  other == nullptr ? "vireo eval --help says which data each metric needs"
                                   : std::string("these data fit ") + other->name);
  }
  return kinds;
}

Json number(double value) { return isfinite(value) ? Json(value) : Json(); }

std::vector<quant::Box> found_boxes(const quant::Decoding& how, const Candidate& candidate,
                                    const std::vector<Array>& outputs, const std::string& item) {
  std::vector<quant::Output> all;
  for (size_t i = 0; i < outputs.size(); ++i) all.push_back(as_output(outputs[i], candidate.model().outputs()[i].name));
  std::vector<quant::Box> boxes;
  const std::string fault = quant::decode(how, all, &boxes);
  if (fault.empty()) return boxes;
  throw Failure("--decode does not fit " + candidate.model().name() + " at " + item + ": " + fault,
                "a .json file says which columns of which outputs are what",
                {"failed", candidate.model().name(), "", "", "", ""});
}

// What --metric-command reads of a sample.
void keep(const Candidate& candidate, const std::vector<Array>& outputs, const Item& item, KeptOutputs* kept) {
  for (size_t i = 0; i < outputs.size(); ++i) kept->add(candidate.model().outputs()[i].name, outputs[i]);
  const auto& all = candidate.model().outputs();
  const bool free =
      std::none_of(all.begin(), all.end(), [](const vireo_value_info& o) { return std::string(o.name) == "label"; });
  if (free && candidate.data().has(quant::Needs::kLabel) && item.labels.size() == 1) {
    Array label = make_array(VIREO_INT64, {1});
    set_real(&label, 0, static_cast<double>(item.labels[0]));
    kept->add("label", label);
  }
}

// Samples in which a number is NaN, and where the first one is. Some models read NaN as what is missing, so it is said.
class Missing {
 public:
  void look(const Array& array, const std::string& where) {
    if (found_ || array.dtype != VIREO_FLOAT32) return;
    for (int64_t i = 0; i < array.count() && !found_; ++i) found_ = isnan(real_at(array, i));
    if (found_ && first_.empty()) first_ = where;
  }
  void end_sample() {
    samples_ += found_ ? 1 : 0;
    found_ = false;
  }
  std::string text(const std::string& whose) const {
    if (samples_ == 0) return "";
    return whose + " NaN in " + std::to_string(samples_) + (samples_ == 1 ? " sample, " : " samples, first in ") +
           first_;
  }

 private:
  uint64_t samples_ = 0;
  bool found_ = false;
  std::string first_;
};

// Runs all candidates over the data, sample by sample.
uint64_t run_all(const EvalOptions& options, const std::vector<const quant::MetricKind*>& kinds,
                 const std::vector<std::unique_ptr<Candidate>>& candidates, std::vector<std::string>* names,
                 std::vector<KeptOutputs>* kept, std::vector<std::string>* notes) {
  Missing missing;
  std::vector<Missing> of_outputs(candidates.size());
  uint64_t count = candidates[0]->data().size();
  if (options.samples > 0) count = std::min(count, options.samples);
  if (count == 0)
    throw Failure(options.data.data + " has no samples", "", {"failed", options.data.data, "", "", "", ""});
  for (const auto& candidate : candidates) {
    for (const quant::MetricKind* kind : kinds) candidate->metrics.push_back(kind->make());
  }
  std::optional<quant::Decoding> decoding;
  if (!options.decode.empty()) decoding = read_decoding(options.decode);
  Progress progress;
  for (uint64_t i = 0; i < count; ++i) {
    progress.show("eval " + options.data.data, i, count);
    quant::Output first;
    for (size_t c = 0; c < candidates.size(); ++c) {
      Candidate& candidate = *candidates[c];
      std::vector<Array> outputs;
      Item item = candidate.run(&outputs);
      if (c == 0) {
        names->push_back(item.name);
        for (const Array& input : item.inputs) missing.look(input, item.name);
        missing.end_sample();
      }
      of_outputs[c].look(outputs[candidate.output()], item.name);
      of_outputs[c].end_sample();
      if (!options.command.empty()) keep(candidate, outputs, item, &(*kept)[c]);
      const quant::Output output = as_output(outputs[candidate.output()], candidate.output_name());
      if (c == 0) first = output;
      quant::Sample sample;
      sample.output = &output;
      sample.reference = &first;
      sample.labels = std::move(item.labels);
      sample.boxes = std::move(item.boxes);
      sample.text = std::move(item.text);
      if (decoding.has_value()) sample.found = found_boxes(*decoding, candidate, outputs, item.name);
      for (size_t m = 0; m < kinds.size(); ++m) {
        if (c == 0 && kinds[m]->needs == quant::Needs::kReference) continue;
        const std::string fault = candidate.metrics[m]->add(sample);
        if (fault.empty()) continue;
        throw Failure("metric " + std::string(kinds[m]->name) + " does not fit " + candidate.model().name() + " at " +
                          item.name + " of " + options.data.data + ": " + fault,
                      "--output names another output, --metric another metric, --label other labels",
                      {"failed", candidate.model().name(), "", candidate.output_name(), "", ""});
      }
    }
  }
  progress.show("");
  notes->push_back(missing.text(options.data.data + " has"));
  for (size_t c = 0; c < candidates.size(); ++c)
    notes->push_back(of_outputs[c].text(candidates[c]->model().name() + " answers"));
  notes->erase(std::remove(notes->begin(), notes->end(), ""), notes->end());
  return count;
}

// The samples that are worst of a metric: names with their values.
Json worst_of(const quant::Metric& metric, const quant::MetricKind& kind, uint64_t most,
              const std::vector<std::string>& names) {
  std::vector<size_t> order(metric.samples());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const std::vector<double>& each = metric.each();
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return kind.higher_is_better ? each[a] < each[b] : each[a] > each[b]; });
  Json list = Json::array();
  for (size_t i = 0; i < order.size() && i < most; ++i)
    list.push_back({{"sample", names[order[i]]}, {"value", number(each[order[i]])}});
  return list;
}

Json difference_json(const quant::Apart& apart, double difference) {
  return {{"difference", number(difference)},
          {"ci95", {number(apart.interval.lo), number(apart.interval.hi)}},
          {"test", apart.mcnemar ? "McNemar" : "bootstrap"},
          {"p", number(apart.p)},
          {"told_apart", apart.apart},
          {"samples_needed", apart.samples_needed > 0 ? number(apart.samples_needed) : Json()}};
}

Json judge(const EvalOptions& options, const std::vector<const quant::MetricKind*>& kinds,
           const std::vector<std::unique_ptr<Candidate>>& candidates, const std::vector<std::string>& names) {
  Json result = {{"data", options.data.data},
                 {"samples", static_cast<uint64_t>(names.size())},
                 {"metrics", Json::array()},
                 {"models", Json::array()}};
  for (const quant::MetricKind* kind : kinds)
    result["metrics"].push_back({{"name", kind->name}, {"higher_is_better", kind->higher_is_better}});
  std::vector<std::vector<double>> first;
  for (size_t c = 0; c < candidates.size(); ++c) {
    const Candidate& candidate = *candidates[c];
    Json entry = {{"model", candidate.model().name()}, {"device", candidate.device()},
                  {"output", candidate.output_name()}, {"bytes", candidate.model().about().file_bytes},
                  {"ms", candidate.milliseconds()},    {"values", Json::object()}};
    for (size_t m = 0; m < kinds.size(); ++m) {
      const quant::Metric& metric = *candidate.metrics[m];
      if (metric.samples() > 0 && isnan(metric.value())) {
        throw Failure("metric " + std::string(kinds[m]->name) + " has no value over these " +
                          std::to_string(names.size()) + " samples of " + options.data.data,
                      "eer takes samples of both labels, map true boxes, miou pixels with a label");
      }
      const std::vector<double> drawn = quant::resampled(metric);
      const quant::Interval interval = quant::middle95(drawn);
      Json value = {{"value", number(metric.value())}, {"ci95", {number(interval.lo), number(interval.hi)}}};
      if (options.worst > 0) value["worst"] = worst_of(metric, *kinds[m], options.worst, names);
      if (c == 0) {
        first.push_back(drawn);
      } else if (kinds[m]->needs != quant::Needs::kReference) {
        const quant::Metric& base = *candidates[0]->metrics[m];
        const bool counts = kinds[m]->counts && !candidate.data().has(quant::Needs::kTokens);
        value["against_first"] =
            difference_json(quant::compare(base, metric, counts, first[m], drawn), metric.value() - base.value());
      }
      entry["values"][kinds[m]->name] = std::move(value);
    }
    result["models"].push_back(std::move(entry));
  }
  return result;
}

// What the command says of a model. There is nothing to resample, so no interval and no test.
void add_command_values(const EvalOptions& options, const KeptOutputs& kept, size_t model, Json* result) {
  const Json printed = run_metric_command(options.command, options.command_seconds, kept);
  for (const auto& [name, value] : printed.items()) {
    if (model == 0) (*result)["metrics"].push_back({{"name", name}, {"higher_is_better", Json()}});
    (*result)["models"][model]["values"][name] = {{"value", value}, {"ci95", {Json(), Json()}}};
  }
}

std::string text_of(const Json& value, const char* format) {
  return value.is_null() ? "-" : formatted(format, value.get<double>());
}

std::string between(const Json& pair, const char* format) {
  return text_of(pair[size_t{0}], format) + " .. " + text_of(pair[size_t{1}], format);
}

// How each row is called: the end of its path that tells it from the others, with its device where there are several.
std::vector<std::string> short_names(const Json& models) {
  std::vector<std::string> names;
  bool devices = false;
  for (const Json& model : models) {
    devices = devices || model["device"] != models.front()["device"];
    std::string name = model["model"].get<std::string>();
    const size_t slash = name.rfind('/');
    const std::string end = slash == std::string::npos ? name : name.substr(slash + 1);
    const auto alike = [&](const Json& other) {
      const std::string path = other["model"].get<std::string>();
      return path != name && path.size() >= end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
    };
    names.push_back(std::any_of(models.begin(), models.end(), alike) ? name : end);
  }
  for (size_t i = 0; devices && i < names.size(); ++i) names[i] += " on " + models[i]["device"].get<std::string>();
  return names;
}

std::string difference_text(const std::string& metric, const Json& d, uint64_t samples) {
  std::string text = metric + " " + text_of(d["difference"], "%+.3g") + " (" + between(d["ci95"], "%+.3g") + "), " +
                     d["test"].get<std::string>() + " p = " + text_of(d["p"], "%.2g") + ": ";
  if (d["told_apart"].get<bool>()) return text + "a significant difference at 95 %";
  text += "no significant difference at 95 %";
  if (d["samples_needed"].is_null()) return text;
  return text + "; about " + text_of(d["samples_needed"], "%.0f") + " samples would show it, and there are " +
         std::to_string(samples);
}

// A row for each model and metric.
void print_values(const Json& result, const std::vector<std::string>& names) {
  std::vector<std::vector<std::string>> rows{{"model", "size", "ms", "metric", "value", "95 %"}};
  for (size_t i = 0; i < names.size(); ++i) {
    const Json& model = result["models"][i];
    for (const auto& [metric, value] : model["values"].items()) {
      if (value["value"].is_null() && i == 0) continue;  // what others are compared with
      const bool first = metric == model["values"].items().front().key;
      rows.push_back({first ? names[i] : "", first ? bytes_text(model["bytes"].get<uint64_t>()) : "",
                      first ? text_of(model["ms"], "%.3g") : "", metric, text_of(value["value"], "%.4f"),
                      between(value["ci95"], "%.4f")});
    }
  }
  std::cout << table_text(rows);
}

void print(const Json& result) {
  const std::vector<std::string> names = short_names(result["models"]);
  const auto samples = result["samples"].get<uint64_t>();
  std::cout << "data: " << result["data"].get<std::string>() << ", " << samples << " samples\n";
  print_values(result, names);
  for (size_t i = 1; i < names.size(); ++i) {
    std::cout << names[i] << " against " << names[0] << ":\n";
    for (const auto& [metric, value] : result["models"][i]["values"].items()) {
      if (value.contains("against_first"))
        std::cout << "  " << difference_text(metric, value["against_first"], samples) << "\n";
    }
  }
  for (size_t i = 0; i < names.size(); ++i) {
    for (const auto& [metric, value] : result["models"][i]["values"].items()) {
      if (!value.contains("worst") || value["worst"].empty()) continue;
      std::cout << "worst of " << names[i] << ", " << metric << ":\n";
      for (const Json& w : value["worst"])
        std::cout << "  " << text_of(w["value"], "%.4f") << "  " << w["sample"].get<std::string>() << "\n";
    }
  }
}

void eval(const EvalOptions& options, Context& context) {
  const std::vector<const quant::MetricKind*> asked = metrics_given(options.metrics);  // before models are read
  std::vector<std::string> read = options.models;
  read.push_back(options.data.data);
  require_apart(read, {options.report});
  if (!options.report.empty()) require_report(options.report);
  std::vector<std::unique_ptr<Candidate>> candidates;
  const std::vector<std::string> devices = options.devices.empty() ? std::vector<std::string>{""} : options.devices;
  Bounds bounds;
  apply_bounds(options.bounds, &bounds);
  for (const std::string& model : options.models) {
    for (const std::string& device : devices) {
      SessionChoice choice;
      choice.device = device;
      choice.threads = options.threads;
      candidates.push_back(
          std::make_unique<Candidate>(model, choice, options.data, bounds, options.output, context.extensions.convert));
    }
  }
  const std::vector<const quant::MetricKind*> kinds = choose_metrics(options, candidates);
  std::vector<std::string> names;
  std::vector<KeptOutputs> kept(candidates.size());
  std::vector<std::string> notes;
  run_all(options, kinds, candidates, &names, &kept, &notes);
  Json result = judge(options, kinds, candidates, names);
  for (size_t c = 0; !options.command.empty() && c < candidates.size(); ++c)
    add_command_values(options, kept[c], c, &result);
  Json& assumed = result["assumed"] = Json::array();
  for (const std::string& line : candidates[0]->data().assumed()) assumed.push_back(line);
  for (const std::string& line : notes) assumed.push_back(line);
  if (names.size() < kFewSamples) {
    assumed.push_back("only " + std::to_string(names.size()) + " samples: intervals and tests say little below " +
                      std::to_string(kFewSamples));
  }
  if (!options.report.empty()) {
    const Candidate& last = *candidates.back();
    eval_report(last.model(), options.report, last.choice(), last.bounds(), result);
  }
  if (options.json) return print_json(result);
  for (const Json& line : assumed) std::cout << line.get<std::string>() << "\n";
  print(result);
}

std::string metrics_text() {
  std::string text;
  for (const quant::MetricKind& kind : quant::metric_kinds()) text += formatted("  %-12s %s\n", kind.name, kind.about);
  return text;
}

}  // namespace

void add_eval(Command app, Context& context) {
  auto options = std::make_shared<EvalOptions>();
  Command verb = app.add_verb("eval", "Measure models on labelled data, side by side");
  verb.add_option("models", options->models, ".vireo or .onnx files; the first one is what others are compared with")
      .required()
      .file({".vireo", ".onnx"});
  context.extensions.import_options(verb);
  verb.add_option(
          "--data", options->data.data,
          "labelled data: an .npz file (arrays named like the inputs, and label, or boxes and labels; a row is a "
          "sample), a folder of pictures or sounds (labels.csv, or a folder a class), COCO's .json, or a text")
      .required()
      .file({".npz", ".json", ".txt"});
  verb.add_repeated("--metric", options->metrics,
                    "what to measure, several with commas between them; default: what the data fit")
      .offer(metric_names());
  verb.add_repeated("-i,--input", options->data.inputs, "NAME=KEY: input NAME is array KEY of the data");
  verb.add_option("--label", options->data.label, "array of the labels in an .npz file; default: label");
  verb.add_option("--classes", options->data.classes,
                  "names of a folder's classes in the model's order: a list with commas, or a file with a name a line; "
                  "default: sorted")
      .file({".txt"});
  verb.add_option("--tokenizer", options->data.tokenizer, "tokenizer.json of a language model, for a text")
      .file({".json"});
  verb.add_option("--window", options->data.window,
                  "the data are tokens: a sample is this many of them, from an empty cache; default for a text: 256")
      .range(1.0, 1e9);
  verb.add_option("--output", options->output, "the output that is judged; default: the first");
  verb.add_option("--decode", options->decode,
                  "how a detector's outputs are boxes: yolo8 (middle, size, probabilities in columns), final (outputs "
                  "boxes, scores and classes), or a .json file")
      .file({".json"})
      .offer(decoding_names());
  verb.add_option("--samples", options->samples, "take only the first N samples").range(0.0, 1e15);
  verb.add_option("--worst", options->worst, "print the N samples that are worst of each metric");
  verb.add_repeated("--device", options->devices,
                    "run on this device, or on these with commas between them, best first (see vireo devices); once "
                    "for each device to compare");
  add_threads(verb, &options->threads);
  add_bounds(verb, &options->bounds);
  verb.add_option(
      "--metric-command", options->command,
      "a metric of one's own: a shell command that reads an .npz of all outputs (and label) on its standard "
      "input and prints a JSON object of numbers");
  verb.add_option("--metric-seconds", options->command_seconds, "time that the command has for a model; default: 60")
      .range(0.1, 1e6);
  verb.add_option("--report", options->report,
                  "write what is printed, and the last model's graph, to one page: OUT.html (a browser shows it) or "
                  "OUT.json")
      .file({".html", ".json"});
  add_json(verb, &options->json);
  verb.footer("Metrics:\n" + metrics_text() +
              "Examples:\n"
              "  vireo eval model.onnx --data test.npz\n"
              "  vireo eval model.onnx small.vireo --data test.npz --metric top1,nll\n"
              "  vireo eval model.vireo --data test.npz --input image=pictures --label classes --json\n"
              "  vireo eval model.vireo --data test.npz --metric-command 'python3 my_metric.py'\n"
              "  vireo eval detector.onnx --data annotations.json --decode yolo8 --worst 10\n"
              "  vireo eval lm.onnx lm_int4.vireo --data book.txt --tokenizer tokenizer.json\n"
              "Values stand with the interval that holds 95 % of 1,000 resamplings of the data. Differences to the\n"
              "first model are tested on the same samples: shares of right answers by McNemar's exact test, all\n"
              "else by 1,000 paired resamplings.");
  verb.callback([options, &context] { eval(*options, context); });
}

}  // namespace vireo::cli
