// vireo eval: models on labelled data, side by side.
#include <math.h>

#include <algorithm>
#include <iostream>

#include "c_api/cli/app.h"
#include "c_api/cli/inputs.h"
#include "c_api/cli/nearest.h"
#include "c_api/cli/options.h"
#include "converter/cli/evaluation.h"
#include "converter/cli/verbs.h"

namespace vireo::cli {
namespace {

struct EvalOptions {
  std::vector<std::string> models, devices, metrics, bounds;
  DataOptions data;
  std::string output;
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
  if (kinds.empty()) {
    const quant::MetricKind* const kind = fitting_metric(candidates);
    if (kind == nullptr) {
      throw Failure(options.data.data + " has nothing to judge a model by: no array 'label', no 'boxes' with 'labels'",
                    "--label KEY names the labels; without any, give two models to compare them");
    }
    kinds.push_back(kind);
  }
  for (const quant::MetricKind* kind : kinds) {
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

// Runs all candidates over the data, sample by sample.
uint64_t run_all(const EvalOptions& options, const std::vector<const quant::MetricKind*>& kinds,
                 const std::vector<std::unique_ptr<Candidate>>& candidates, std::vector<std::string>* names) {
  uint64_t count = candidates[0]->data().size();
  if (options.samples > 0) count = std::min(count, options.samples);
  if (count == 0)
    throw Failure(options.data.data + " has no samples", "", {"failed", options.data.data, "", "", "", ""});
  for (const auto& candidate : candidates) {
    for (const quant::MetricKind* kind : kinds) candidate->metrics.push_back(kind->make());
  }
  Progress progress;
  for (uint64_t i = 0; i < count; ++i) {
    progress.show("eval " + options.data.data, i, count);
    quant::Output first;
    for (size_t c = 0; c < candidates.size(); ++c) {
      Candidate& candidate = *candidates[c];
      std::vector<Array> outputs;
      Item item = candidate.run(&outputs);
      if (c == 0) names->push_back(item.name);
      const quant::Output output = as_output(outputs[candidate.output()], candidate.output_name());
      if (c == 0) first = output;
      quant::Sample sample;
      sample.output = &output;
      sample.reference = &first;
      sample.labels = std::move(item.labels);
      sample.boxes = std::move(item.boxes);
      sample.text = std::move(item.text);
      for (size_t m = 0; m < kinds.size(); ++m) {
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
      const std::vector<double> drawn = quant::resampled(metric);
      const quant::Interval interval = quant::middle95(drawn);
      Json value = {{"value", number(metric.value())}, {"ci95", {number(interval.lo), number(interval.hi)}}};
      if (options.worst > 0) value["worst"] = worst_of(metric, *kinds[m], options.worst, names);
      if (c == 0) {
        first.push_back(drawn);
      } else if (kinds[m]->needs != quant::Needs::kReference) {
        const quant::Metric& base = *candidates[0]->metrics[m];
        value["against_first"] = difference_json(quant::compare(base, metric, kinds[m]->counts, first[m], drawn),
                                                 metric.value() - base.value());
      }
      entry["values"][kinds[m]->name] = std::move(value);
    }
    result["models"].push_back(std::move(entry));
  }
  return result;
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
  std::string text = metric + " " + text_of(d["difference"], "%+.4f") + " (" + between(d["ci95"], "%+.4f") + "), " +
                     d["test"].get<std::string>() + " p = " + text_of(d["p"], "%.2g") + ": ";
  if (d["told_apart"].get<bool>()) return text + "told apart at 95 %";
  text += "not told apart at 95 %";
  if (d["samples_needed"].is_null()) return text;
  return text + "; it takes about " + text_of(d["samples_needed"], "%.0f") +
         " samples to tell such a difference, and there are " + std::to_string(samples);
}

// A row for each model and metric.
void print_values(const Json& result, const std::vector<std::string>& names) {
  std::vector<std::vector<std::string>> rows{{"model", "size", "ms", "metric", "value", "95 %"}};
  for (size_t i = 0; i < names.size(); ++i) {
    const Json& model = result["models"][i];
    for (const auto& [metric, value] : model["values"].items()) {
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
      if (!value.contains("worst")) continue;
      std::cout << "worst of " << names[i] << ", " << metric << ":\n";
      for (const Json& w : value["worst"])
        std::cout << "  " << text_of(w["value"], "%.4f") << "  " << w["sample"].get<std::string>() << "\n";
    }
  }
}

void eval(const EvalOptions& options, Context& context) {
  const std::vector<const quant::MetricKind*> asked = metrics_given(options.metrics);  // before models are read
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
  run_all(options, kinds, candidates, &names);
  Json result = judge(options, kinds, candidates, names);
  Json& assumed = result["assumed"] = Json::array();
  for (const std::string& line : candidates[0]->data().assumed()) assumed.push_back(line);
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
  verb.add_option("--data", options->data.data,
                  "an .npz file: arrays named like the inputs, and 'label', or 'boxes' and 'labels'; a row is a sample")
      .required()
      .file({".npz"});
  verb.add_repeated("--metric", options->metrics,
                    "what to measure, several with commas between them; default: what the data fit")
      .offer(metric_names());
  verb.add_repeated("-i,--input", options->data.inputs, "NAME=KEY: input NAME is array KEY of the data");
  verb.add_option("--label", options->data.label, "array of the labels; default: label");
  verb.add_option("--output", options->output, "the output that is judged; default: the first");
  verb.add_option("--samples", options->samples, "take only the first N samples").range(0.0, 1e15);
  verb.add_option("--worst", options->worst, "print the N samples that are worst of each metric");
  verb.add_repeated("--device", options->devices,
                    "run on this device, or on these with commas between them, best first (see vireo devices); once "
                    "for each device to compare");
  add_threads(verb, &options->threads);
  add_bounds(verb, &options->bounds);
  add_json(verb, &options->json);
  verb.footer("Metrics:\n" + metrics_text() +
              "Examples:\n"
              "  vireo eval model.onnx --data test.npz\n"
              "  vireo eval model.onnx small.vireo --data test.npz --metric top1,nll\n"
              "  vireo eval model.vireo --data test.npz --input image=pictures --label classes --json\n"
              "Values stand with the interval that holds 95 % of 1,000 resamplings of the data. Differences to the\n"
              "first model are tested on the same samples: shares of right answers by McNemar's exact test, all\n"
              "else by 1,000 paired resamplings.");
  verb.callback([options, &context] { eval(*options, context); });
}

}  // namespace vireo::cli
