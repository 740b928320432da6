// vireo bench: how long a run takes, and in which nodes.
#include <stdio.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>

#include "c_api/tool/app.h"
#include "c_api/tool/file.h"
#include "c_api/tool/inputs.h"
#include "c_api/tool/options.h"
#include "c_api/tool/tuner.h"

namespace vireo::tool {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string model, device, profile, tuning, cache, require, target;
  std::vector<std::string> inputs, shapes;
  int threads = 0;
  vireo_packing packing = VIREO_PACKING_DEFAULT;
  double tune_at_load_ms = 0;
  double seconds = 2;
  bool json = false;
  std::vector<std::string> bounds;
};

double ms_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double, std::milli>(b - a).count();
}

// The kernel's high-water mark of resident memory; 0 where it is not told.
uint64_t peak_rss_bytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    unsigned long long kib = 0;
    if (sscanf(line.c_str(), "VmHWM: %llu kB", &kib) == 1) return kib * 1024;
  }
  return 0;
}

// Converting in memory first must not count as the runtime's memory: gives back what it can, restarts the mark.
void restart_peak_rss() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  std::ofstream("/proc/self/clear_refs") << "5";
}

double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const size_t low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - static_cast<double>(low));
}

// One run laid out node after node at mean times, in the format of chrome://tracing and ui.perfetto.dev, with the table
// behind it as "nodes".
Json profile_of(const std::vector<vireo_node_info>& nodes, const std::string& model) {
  Json events = Json::array(), table = Json::array();
  events.push_back({{"ph", "M"}, {"pid", 1}, {"name", "process_name"}, {"args", {{"name", model}}}});
  double total = 0;
  for (const vireo_node_info& n : nodes) total += n.depth == 0 ? static_cast<double>(n.total_ns) : 0.0;
  double runs = 1;
  for (const vireo_node_info& n : nodes) {
    if (n.depth == 0) runs = std::max(runs, static_cast<double>(n.calls));
  }
  std::vector<double> at(1, 0.0);  // next start in microseconds, one a depth
  for (const vireo_node_info& n : nodes) {
    const double us = static_cast<double>(n.total_ns) / runs / 1000;
    if (n.depth >= at.size()) at.resize(n.depth + 1, 0.0);
    const double start = at[n.depth];
    at[n.depth] += us;
    for (size_t deeper = n.depth + 1; deeper < at.size(); ++deeper) at[deeper] = start;
    if (n.depth + 1 == at.size()) at.push_back(start);
    events.push_back({{"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", start},
                      {"dur", us},
                      {"name", n.op},
                      {"cat", n.device},
                      {"args", {{"node", n.name}, {"kernel", n.kernel}, {"calls", n.calls}}}});
    table.push_back({{"name", n.name},
                     {"op", n.op},
                     {"device", n.device},
                     {"kernel", n.kernel},
                     {"depth", n.depth},
                     {"calls", n.calls},
                     {"mean_us", us},
                     {"share", total > 0 ? static_cast<double>(n.total_ns) / total : 0.0}});
  }
  return {{"traceEvents", events}, {"displayTimeUnit", "ns"}, {"nodes", table}};
}

void bench(const Options& options, Context& context) {
  if (!options.profile.empty()) require_writable(options.profile);
  const Model model(options.model, options.threads, context.extensions.convert);
  if (model.converted()) restart_peak_rss();
  Bounds bounds;
  std::vector<std::string> assumed;
  const std::vector<Array> inputs =
      inputs_to_measure(model, options.inputs, options.shapes, options.bounds, &bounds, &assumed);
  Tuning tuning(tuning_file(options.tuning, options.tune_at_load_ms), model.runtime(), options.threads,
                /*must_exist=*/options.tune_at_load_ms == 0);
  const SessionChoice choice{options.device,      options.threads, !options.profile.empty(), options.packing,
                             tuning.preference(), options.cache,   options.require,          options.target};
  const Clock::time_point begin = Clock::now();
  LoadTuning tuned;
  if (options.tune_at_load_ms > 0)
    tuned = tune_at_load(model, choice, bounds, inputs, options.tune_at_load_ms, &tuning);
  const Session session = make_session(model, choice, bounds);
  const double load_ms = model.load_ms() + ms_between(begin, Clock::now());
  const vireo_memory memory = memory_of(model, choice, bounds);

  std::vector<std::vector<vireo_string>> refs(inputs.size());
  std::vector<vireo_tensor> in(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype != VIREO_NONE) in[i] = view_of(inputs[i], &refs[i]);
  }
  vireo_error error = VIREO_ERROR_INIT;
  const auto once = [&] {
    const Clock::time_point start = Clock::now();
    check(vireo_session_run(session.get(), in.empty() ? nullptr : in.data(), nullptr, &error), error,
          "run " + model.name());
    return ms_between(start, Clock::now());
  };
  const double first_ms = once();
  Progress progress;
  std::vector<double> times;
  const Clock::time_point start = Clock::now();
  while (times.size() < 3 || ms_between(start, Clock::now()) < options.seconds * 1000) {
    times.push_back(once());
    if (times.size() % 64 == 1) progress.show("bench: " + std::to_string(times.size()) + " runs");
  }
  progress.show("");
  std::sort(times.begin(), times.end());

  Json result = {{"model", options.model},
                 {"device", devices_of(session.get())},
                 {"threads", options.threads},
                 {"runs", times.size()},
                 {"median_ms", quantile(times, 0.5)},
                 {"p90_ms", quantile(times, 0.9)},
                 {"min_ms", times.front()},
                 {"max_ms", times.back()},
                 {"first_ms", first_ms},
                 {"load_ms", load_ms},
                 {"arena_bytes", memory.total_bytes},
                 {"arena_lower_bound_bytes", memory.lower_bound_bytes},
                 {"packed_bytes", memory.packed_bytes},
                 {"mapped_bytes", memory.mapped_bytes},
                 {"peak_rss_bytes", peak_rss_bytes()},
                 {"assumed", assumed}};
  if (options.tune_at_load_ms > 0) {
    result["tuned_at_load"] = {{"worth", tuned.worth},
                               {"measured", tuned.measured},
                               {"changed", tuned.changed},
                               {"ms", tuned.spent_ms},
                               {"tuning", tuning.path()}};
  }
  if (!options.profile.empty()) {
    Json profile = profile_of(nodes_of(session.get()), options.model);
    write_file(options.profile, profile.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    result["profile"] = options.profile;
  }
  if (options.json) return print_json(result);
  for (const std::string& line : assumed) std::cout << line << "\n";
  printf("median %.3f ms, p90 %.3f ms, min %.3f ms over %zu runs on %s\n", quantile(times, 0.5), quantile(times, 0.9),
         times.front(), times.size(), devices_of(session.get()).c_str());
  printf(
      "load %.2f ms, first run %.2f ms, arena %s (lower bound %s), packed weights %s (mapped %s), peak "
      "resident memory %s\n",
      load_ms, first_ms, bytes_text(memory.total_bytes).c_str(), bytes_text(memory.lower_bound_bytes).c_str(),
      bytes_text(memory.packed_bytes).c_str(), bytes_text(memory.mapped_bytes).c_str(),
      bytes_text(peak_rss_bytes()).c_str());
  if (options.tune_at_load_ms > 0)
    printf("tuned for %.1f ms of the load: of %zu kinds of nodes worth it %zu were measured, %zu changed\n",
           tuned.spent_ms, tuned.worth, tuned.measured, tuned.changed);
  if (!options.profile.empty())
    printf("wrote %s: open it in ui.perfetto.dev or chrome://tracing\n", options.profile.c_str());
}

}  // namespace

void add_bench(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("bench", "Measure how long a run takes");
  add_model(verb, static_cast<bool>(context.extensions.convert), &options->model);
  verb->add_option("--seconds", options->seconds, "how long to measure")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  add_threads(verb, &options->threads);
  add_packing(verb, &options->packing);
  add_cache(verb, &options->cache);
  add_device(verb, &options->device);
  add_target(verb, &options->target);
  add_require(verb, &options->require);
  add_tuning(verb, &options->tuning);
  add_tune_at_load(verb, &options->tune_at_load_ms);
  add_shapes(verb, &options->shapes);
  add_repeated(verb, "-i,--input", &options->inputs,
               "NAME=FILE: values to run on instead of random ones (give all inputs)");
  add_bounds(verb, &options->bounds);
  verb->add_option("--profile", options->profile,
                   "write the time of each node to this .json (Perfetto, chrome://tracing)");
  verb->add_flag("--json", options->json, "print the figures as JSON");
  verb->footer(
      "Examples:\n"
      "  vireo bench model.vireo\n"
      "  vireo bench model.vireo --threads 1 --seconds 5 --json\n"
      "  vireo bench bert.vireo --shape input_ids=1,128 --profile bert.json");
  verb->callback([options, &context] { bench(*options, context); });
}

}  // namespace vireo::tool
