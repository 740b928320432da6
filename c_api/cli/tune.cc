// vireo tune: runs the nodes of a model in every way that a device offers and writes down which was fastest.
#include <math.h>
#include <stdio.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <map>
#include <set>

#include "c_api/cli/app.h"
#include "c_api/cli/clock.h"
#include "c_api/cli/file.h"
#include "c_api/cli/growing.h"
#include "c_api/cli/inputs.h"
#include "c_api/cli/options.h"
#include "c_api/cli/tuner.h"
#include "c_api/cli/tuning.h"

namespace vireo::cli {
namespace {

struct TuneOptions {
  std::string model, device, out = "auto";
  std::vector<std::string> inputs, shapes, bounds;
  int threads = 0;
  vireo_packing packing = VIREO_PACKING_DEFAULT;
  double seconds = 10;
  bool json = false;
};

// The way that is taken, and what the others took.
Tuning::Entry measured_ways(const std::vector<Way>& list, size_t taken, double us, uint64_t key,
                            const std::vector<std::unique_ptr<Trial>>& trials) {
  Tuning::Entry entry = {list[taken].first, list[taken].second, us, 0, {}};
  for (const auto& trial : trials) {
    const size_t w = trial->taken(key);
    if (w == taken || !std::isfinite(trial->us(key))) continue;
    const auto [at, fresh] = entry.others.emplace(list[w], trial->us(key));
    if (!fresh) at->second = std::min(at->second, trial->us(key));
  }
  return entry;
}

void tune(const TuneOptions& options, Context& context) {
  if (options.out != "auto") require_apart(files_read(options.model, options.inputs), {options.out});
  const Model model(options.model, options.threads, context.extensions.convert);
  Tuning tuning(options.out, model.runtime(), options.threads, /*must_exist=*/false);
  tuning.write();  // what cannot be written is better known before
  Bounds bounds;
  std::vector<std::string> assumed;
  const std::vector<Array> inputs =
      inputs_to_measure(model, options.inputs, options.shapes, options.bounds, &bounds, &assumed);
  std::vector<std::vector<vireo_string>> refs(inputs.size());
  std::vector<vireo_tensor> in(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype != VIREO_NONE) in[i] = view_of(inputs[i], &refs[i]);
  }

  Ways ways;
  const vireo_preference noting = {sizeof(vireo_preference), &ways, Ways::note, nullptr};
  SessionChoice choice{options.device, options.threads, false, options.packing, &noting};
  bounds = fitted_bounds(model, choice, bounds, inputs);
  memory_of(model, choice, bounds);

  // First as it is, which also tells what each node is worth; then a session for each further way.
  const Clock::time_point begin = Clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(Clock::now() - begin).count() / options.seconds; };
  std::vector<std::unique_ptr<Trial>> trials;
  trials.push_back(std::make_unique<Trial>(model, choice, bounds, ways));
  double run_ms = INFINITY;
  for (int i = 0; i < 3; ++i) run_ms = std::min(run_ms, trials[0]->run(in));
  const std::map<uint64_t, double> gains =
      possible_gains(model, ways, *trials[0], run_ms, options.threads, tuning.rates());
  size_t most = 1, pruned = 0;
  std::set<uint64_t> measured;
  for (const auto& [key, list] : ways.all) {
    if (list.size() < 2) continue;
    if (gains.count(key) == 0) {
      ++pruned;
      continue;
    }
    measured.insert(key);
    most = std::max(most, list.size());
  }
  for (size_t w = 1; w < most; ++w) {
    Ways others = ways;
    for (const uint64_t key : measured) {
      if (w < ways.all[key].size()) others.taken[key] = w;
    }
    trials.push_back(std::make_unique<Trial>(model, choice, bounds, others));
  }
  Progress progress;
  int rounds = 0;
  while (trials.size() > 1 && (rounds < 3 || spent() < 0.7)) {
    for (const auto& trial : trials) trial->run(in);
    progress.show("tune " + model.name(), spent(), formatted("%d rounds of %zu ways", ++rounds, trials.size()));
  }

  Ways best = ways;
  for (const uint64_t key : measured) {
    double least = kWorthwhile * trials[0]->us(key);
    for (const auto& trial : trials) {
      if (trial->taken(key) == 0 || trial->us(key) >= least) continue;
      least = trial->us(key);
      best.taken[key] = trial->taken(key);
    }
  }
  // A node's time also depends on those before it: the whole must be faster too.
  double before_ms = trials[0]->median_ms(), after_ms = before_ms;
  bool faster = true;
  if (!best.taken.empty()) {
    Trial tuned(model, choice, bounds, best);
    tuned.run(in);
    tuned.forget();
    trials[0]->forget();
    for (int i = 0; i < 7 || spent() < 1; ++i) {
      trials[0]->run(in);
      tuned.run(in);
      progress.show("tune " + model.name(), std::min(spent(), 1.0), "the whole with the fastest");
    }
    before_ms = trials[0]->median_ms();
    after_ms = tuned.median_ms();
    faster = after_ms < before_ms;
  }
  progress.show("");

  Json changes = Json::array();
  std::vector<std::vector<std::string>> rows{{"node", "from", "us", "to", "us"}};
  const auto number = [](double v) {
    char text[32];
    snprintf(text, sizeof(text), "%.1f", v);
    return std::string(text);
  };
  for (const uint64_t key : measured) {
    const size_t w = faster && best.taken.count(key) != 0 ? best.taken[key] : 0;
    const Way &from = ways.all[key][0], &to = ways.all[key][w];
    const double was = trials[0]->us(key);
    double is = was;
    for (const auto& trial : trials) is = trial->taken(key) == w ? std::min(is, trial->us(key)) : is;
    tuning.put(key, measured_ways(ways.all[key], w, is, key, trials));
    if (w == 0) continue;
    changes.push_back({{"node", ways.names[key]},
                       {"from", from.first + ":" + from.second},
                       {"from_us", was},
                       {"to", to.first + ":" + to.second},
                       {"to_us", is}});
    rows.push_back(
        {ways.names[key], from.first + ":" + from.second, number(was), to.first + ":" + to.second, number(is)});
  }
  // Of nodes that have one way what it takes is worth knowing as well: placement over several devices asks.
  for (const auto& [key, list] : ways.all) {
    if (list.size() == 1 && std::isfinite(trials[0]->us(key)))
      tuning.put(key, {list[0].first, list[0].second, trials[0]->us(key), 0, {}});
  }
  tuning.write();
  if (options.json) {
    return print_json({{"model", options.model},
                       {"tuning", tuning.path()},
                       {"cpu", tuning.cpu()},
                       {"rounds", rounds},
                       {"kinds_of_nodes", ways.all.size()},
                       {"measured", measured.size()},
                       {"too_small", pruned},
                       {"median_ms_before", before_ms},
                       {"median_ms_after", faster ? after_ms : before_ms},
                       {"changes", changes},
                       {"assumed", assumed}});
  }
  for (const std::string& line : assumed) std::cout << line << "\n";
  if (rows.size() > 1) std::cout << table_text(rows);
  if (measured.empty() && pruned == 0) {
    std::cout << formatted("%zu kinds of nodes, each with one kernel here: there is no choice to measure\n",
                           ways.all.size());
  } else {
    std::cout << formatted(
        "%zu kinds of nodes, %zu of them with several kernels, %zu of those slow enough to measure; %d rounds\n",
        ways.all.size(), measured.size() + pruned, measured.size(), rounds);
  }
  if (!faster) std::cout << "the fastest nodes together were not faster: nothing is changed\n";
  std::cout << formatted("median %.3f ms before, %.3f ms after; wrote %s\n", before_ms, faster ? after_ms : before_ms,
                         tuning.path().c_str());
}

}  // namespace

void add_tune(Command app, Context& context) {
  auto options = std::make_shared<TuneOptions>();
  Command verb = app.add_verb(
      "tune", "Measure which kernels are fastest on this machine; run and bench use the result with --tuning");
  add_model(verb, context, &options->model);
  verb.add_option("-o,--output", options->out, "file to write, and to add to; auto: the one in your cache")
      .show_default()
      .file({".json"})
      .offer({"auto"});
  verb.add_option("--seconds", options->seconds, "how long to measure, about").range(0.0, 3600.0).show_default();
  add_threads(verb, &options->threads);
  add_packing(verb, &options->packing);
  add_device(verb, &options->device);
  add_shapes(verb, &options->shapes);
  add_inputs(verb, &options->inputs, "NAME=FILE: values to run on instead of random ones (give all inputs)");
  add_bounds(verb, &options->bounds);
  add_json(verb, &options->json, "print the figures as JSON");
  verb.footer(
      "Examples:\n"
      "  vireo tune model.vireo --threads 1\n"
      "  vireo bench model.vireo --threads 1 --tuning auto\n"
      "  vireo tune model.vireo -o board.json && vireo run model.vireo --tuning board.json");
  verb.callback([options, &context] { tune(*options, context); });
}

}  // namespace vireo::cli
