// vireo bench: how long a run takes, and in which nodes.
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>

#include "c_api/cli/app.h"
#include "c_api/cli/bench_fleet.h"
#include "c_api/cli/clock.h"
#include "c_api/cli/file.h"
#include "c_api/cli/growing.h"
#include "c_api/cli/inputs.h"
#include "c_api/cli/latency.h"
#include "c_api/cli/options.h"
#include "c_api/cli/process_memory.h"
#include "c_api/cli/run_log.h"
#include "c_api/cli/trace.h"
#include "c_api/cli/tuner.h"

namespace vireo::cli {
namespace {

struct BenchOptions {
  std::string model, profile, report, tuning, cache;
  std::vector<std::string> inputs;
  SessionRequest session;
  vireo_packing packing = VIREO_PACKING_DEFAULT;
  double tune_at_load_ms = 0;
  double seconds = 2;
  bool json = false;
  FleetRequest fleet;
};

double ms_between(Clock::time_point a, Clock::time_point b) {
  return std::chrono::duration<double, std::milli>(b - a).count();
}

// Which part each node belongs to, in the order of the session's nodes; none where the two lists do not agree.
std::vector<TracedPart> parts_of(const Model& model, const SessionChoice& choice, const Bounds& bounds, size_t nodes) {
  std::vector<TracedPart> parts;
  visit_placement(model, choice, bounds, [&](const vireo_placed_node& n) {
    parts.push_back({n.part, n.bytes_crossing});
  });
  return parts.size() == nodes ? parts : std::vector<TracedPart>();
}

// Nodes of devices whose rates are known that take more than twice what these allow, those first that lose most.
void print_under_half(const Json& latency) {
  std::vector<std::pair<double, const Json*>> slow;
  for (const Json& n : latency["nodes"]) {
    if (n.contains("under_half")) slow.emplace_back(n["least_us"].get<double>() - n["p50_us"].get<double>(), &n);
  }
  std::sort(slow.begin(), slow.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  constexpr size_t kMost = 5;
  for (size_t i = 0; i < std::min(slow.size(), kMost); ++i) {
    const Json& n = *slow[i].second;
    std::cout << formatted("under half of what %s can: %s (%s), %.1f us in place of %.1f\n",
                           n["device"].get<std::string>().c_str(), n["name"].get<std::string>().c_str(),
                           n["kernel"].get<std::string>().c_str(), n["p50_us"].get<double>(),
                           n["least_us"].get<double>());
  }
  if (slow.size() > kMost) std::cout << formatted("... and %zu more nodes\n", slow.size() - kMost);
}

void bench(const BenchOptions& options, Context& context) {
  require_apart(files_read(options.model, options.inputs), {options.profile, options.report});
  if (!options.profile.empty()) require_writable(options.profile);
  if (!options.report.empty()) require_report(options.report);
  const Model model(options.model, options.session.threads, context.extensions.convert);
  if (model.converted()) restart_peak_resident();  // converting must not count as the runtime's memory
  Bounds bounds;
  std::vector<std::string> assumed;
  std::vector<std::string> extents = options.session.bounds;
  if (!options.fleet.split.empty() && !model.inputs().empty() && model.inputs()[0].dim_names[0] != nullptr)
    extents.push_back(std::string(model.inputs()[0].dim_names[0]) + "=" + std::to_string(options.fleet.batch));
  const std::vector<Array> inputs =
      inputs_to_measure(model, options.inputs, options.session.shapes, extents, &bounds, &assumed);
  Tuning tuning(tuning_file(options.tuning, options.tune_at_load_ms), model.runtime(), options.session.threads,
                /*must_exist=*/options.tune_at_load_ms == 0);
  const bool per_node = !options.profile.empty() || !options.report.empty();
  SessionChoice choice = choice_of(options.session);
  choice.profile = per_node;
  choice.packing = options.packing;
  choice.preference = tuning.preference();
  choice.cache = options.cache;
  bounds = fitted_bounds(model, choice, bounds, inputs);
  if (options.fleet.depth > 0 || !options.fleet.split.empty()) {
    FleetRequest request = options.fleet;
    request.seconds = options.seconds;
    request.json = options.json;
    std::vector<std::vector<vireo_string>> texts(inputs.size());
    std::vector<vireo_tensor> given(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].dtype != VIREO_NONE) given[i] = view_of(inputs[i], &texts[i]);
    }
    if (request.depth > 0) return bench_pipeline(model, choice, bounds, given, request);
    return bench_split(model, choice, bounds, given, request);
  }
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
    check_file(vireo_session_run(session.get(), in.data(), static_cast<uint32_t>(in.size()), nullptr, 0, &error), error,
               "run", model.name());
    return ms_between(start, Clock::now());
  };
  const double first_ms = once();
  Progress progress;
  std::vector<double> times;
  RunLog log(nodes_of(session.get()));
  const Clock::time_point start = Clock::now();
  while (times.size() < 3 || ms_between(start, Clock::now()) < options.seconds * 1000) {
    const double since_ms = ms_between(start, Clock::now());
    times.push_back(once());
    if (per_node) {
      TracedRun run;
      run.start_us = since_ms * 1000;
      run.end_us = (since_ms + times.back()) * 1000;
      if (!options.profile.empty()) run.resident_bytes = resident_bytes();
      log.add(std::move(run), nodes_of(session.get()));
    }
    if (times.size() % 64 == 1 || times.back() > 20)
      progress.show("bench " + model.name(), options.seconds > 0 ? since_ms / 1000 / options.seconds : 1,
                    std::to_string(times.size()) + " runs");
  }
  progress.show("");
  std::sort(times.begin(), times.end());

  Json result = {{"model", options.model},
                 {"device", devices_of(session.get())},
                 {"threads", options.session.threads},
                 {"runs", times.size()},
                 {"median_ms", quantile(times, 0.5)},
                 {"p10_ms", quantile(times, 0.1)},
                 {"p90_ms", quantile(times, 0.9)},
                 {"p95_ms", quantile(times, 0.95)},
                 {"min_ms", times.front()},
                 {"max_ms", times.back()},
                 {"first_ms", first_ms},
                 {"load_ms", load_ms},
                 {"arena_bytes", memory.total_bytes},
                 {"arena_lower_bound_bytes", memory.lower_bound_bytes},
                 {"packed_bytes", memory.packed_bytes},
                 {"mapped_bytes", memory.mapped_bytes},
                 {"peak_rss_bytes", peak_resident_bytes()},
                 {"assumed", assumed}};
  if (options.tune_at_load_ms > 0) {
    result["tuned_at_load"] = {{"worth", tuned.worth},
                               {"measured", tuned.measured},
                               {"changed", tuned.changed},
                               {"ms", tuned.spent_ms},
                               {"tuning", tuning.path()}};
  }
  if (!options.profile.empty()) {
    Trace trace;
    trace.model = options.model;
    trace.memory = memory;
    trace.nodes = log.nodes();
    trace.runs = log.first();
    trace.times = log.node_us();
    trace.median_us = log.wall_us().p50;
    trace.parts = parts_of(model, choice, bounds, trace.nodes.size());
    write_file(options.profile, json_text(trace_json(trace), 1) + "\n");
    result["profile"] = options.profile;
  }
  Json latency;
  if (per_node) latency = latency_json(model, session.get(), log, options.session.threads);
  if (!options.report.empty()) {
    context.extensions.report(model, options.report, choice, bounds, latency);
    result["report"] = options.report;
  }
  if (options.json) return print_json(result);
  for (const std::string& line : assumed) std::cout << line << "\n";
  std::cout << formatted("median %.3f ms over %zu runs on %s\n", quantile(times, 0.5), times.size(),
                         devices_of(session.get()).c_str())
            << formatted("spread: min %.3f ms, p10 %.3f ms, p90 %.3f ms, p95 %.3f ms, max %.3f ms\n", times.front(),
                         quantile(times, 0.1), quantile(times, 0.9), quantile(times, 0.95), times.back())
            << formatted("load %.2f ms, first run %.2f ms\n", load_ms, first_ms) << "arena "
            << bytes_text(memory.total_bytes) << " (lower bound " << bytes_text(memory.lower_bound_bytes)
            << "), packed weights " << bytes_text(memory.packed_bytes) << " (mapped " << bytes_text(memory.mapped_bytes)
            << "), peak resident memory " << bytes_text(peak_resident_bytes()) << "\n";
  if (options.tune_at_load_ms > 0)
    std::cout << formatted(
        "tuned for %.1f ms of the load: of %zu kinds of nodes worth it %zu were measured, %zu changed\n",
        tuned.spent_ms, tuned.worth, tuned.measured, tuned.changed);
  if (per_node) print_under_half(latency);
  if (!options.profile.empty()) {
    const char* const more = context.extensions.report ? "; --report OUT.html draws a timeline itself" : "";
    std::cout << "wrote " << options.profile << ": events for trace viewers" << more << "\n";
  }
  if (!options.report.empty()) std::cout << "wrote " << options.report << "\n";
}

}  // namespace

void add_bench(Command app, Context& context) {
  auto options = std::make_shared<BenchOptions>();
  Command verb = app.add_verb("bench", "Measure how long a run takes");
  add_model(verb, context, &options->model);
  verb.add_option("--seconds", options->seconds, "how long to measure").range(0.0, 3600.0).show_default();
  add_session(verb, &options->session);
  add_packing(verb, &options->packing);
  add_cache(verb, &options->cache);
  add_tuning(verb, &options->tuning);
  add_tune_at_load(verb, &options->tune_at_load_ms);
  add_inputs(verb, &options->inputs, "NAME=FILE: values to run on instead of random ones (give all inputs)");
  verb.add_option("--profile", options->profile,
                  "write a timeline of the first runs to this .json, a slice for each node, in the trace-event format "
                  "that Chrome and Perfetto show")
      .file({".json"});
  if (context.extensions.report)
    verb.add_option("--report", options->report,
                    "write a page (.html, or .json) with graph, memory, placement, the time of each node and a "
                    "timeline")
        .file({".html", ".json"});
  Option pipeline = verb.add_option("--pipeline", options->fleet.depth,
                                    "overlap runs in this many sessions, and compare with a single session")
                        .range(1, 64);
  Option split = verb.add_option("--split", options->fleet.split,
                                 "share each batch between these devices (cpu,npu), and compare with each device "
                                 "by itself")
                     .excludes(pipeline);
  Option batch = verb.add_option("--batch", options->fleet.batch, "rows in each batch of --split").range(1, 1 << 20);
  for (const char* other : {"--profile", "--report", "--tune-at-load"}) {  // of one session
    if (const Option option = verb.find_option(other)) {
      pipeline.excludes(option);
      split.excludes(option);
    }
  }
  split.needs(batch);
  batch.needs(split);
  add_json(verb, &options->json, "print the figures as JSON");
  verb.footer(
      "Examples:\n"
      "  vireo bench model.vireo\n"
      "  vireo bench model.vireo --threads 1 --seconds 5 --json\n"
      "  vireo bench model.vireo --device npu,cpu --pipeline 3\n"
      "  vireo bench model.vireo --split cpu,npu --batch 16\n"
      "  vireo bench bert.vireo --shape input_ids=1,128 --profile bert.json\n"
      "  vireo bench model.vireo --report model.html");
  verb.callback([options, &context] { bench(*options, context); });
}

}  // namespace vireo::cli
