#include "c_api/cli/tuner.h"

#include <math.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <memory>
#include <thread>

#include "c_api/cli/clock.h"
#include "c_api/cli/roofline.h"

namespace vireo::cli {
namespace {}  // namespace

int32_t Ways::note(void* self, const vireo_candidate* c) {
  auto& ways = *static_cast<Ways*>(self);
  std::vector<Way>& list = ways.all[c->key];
  const Way way{c->device, c->kernel};
  if (std::find(list.begin(), list.end(), way) == list.end()) list.push_back(way);
  ways.names.try_emplace(c->key, c->node);
  return 0;
}

int32_t Ways::choose(void* self, const vireo_candidate* c) {
  const auto& ways = *static_cast<const Ways*>(self);
  const auto wanted = ways.taken.find(c->key);
  if (wanted == ways.taken.end()) return 0;
  return ways.all.at(c->key)[wanted->second] == Way{c->device, c->kernel} ? 1 : 0;
}

Trial::Trial(const Model& model, SessionChoice choice, const Bounds& bounds, const Ways& ways)
    : model_(model), ways_(ways), preference_{sizeof(vireo_preference), &ways_, Ways::choose, nullptr} {
  choice.profile = true;
  choice.preference = &preference_;
  session_ = make_session(model, choice, bounds);
  before_ = nodes_of(session_.get());
}

double Trial::run(const std::vector<vireo_tensor>& in) {
  vireo_error error = VIREO_ERROR_INIT;
  const Clock::time_point start = Clock::now();
  check_file(vireo_session_run(session_.get(), in.data(), static_cast<uint32_t>(in.size()), nullptr, 0, &error), error,
             "run", model_.name());
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  const std::vector<vireo_node_info> after = nodes_of(session_.get());
  std::map<uint64_t, std::pair<double, int>> sums;
  for (size_t i = 0; i < after.size(); ++i) {
    if (after[i].key == 0 || after[i].calls == before_[i].calls) continue;
    auto& [us, count] = sums[after[i].key];
    us += static_cast<double>(after[i].total_ns - before_[i].total_ns) / 1e3 /
          static_cast<double>(after[i].calls - before_[i].calls);
    ++count;
  }
  for (const auto& [key, sum] : sums) {
    const double us = sum.first / sum.second;
    const auto [it, fresh] = least_.try_emplace(key, us);
    if (!fresh) it->second = std::min(it->second, us);
  }
  before_ = after;
  times_.push_back(ms);
  return ms;
}

double Trial::us(uint64_t key) const {
  const auto it = least_.find(key);
  return it == least_.end() ? INFINITY : it->second;
}

double Trial::median_ms() const {
  std::vector<double> sorted = times_;
  std::sort(sorted.begin(), sorted.end());
  return sorted.empty() ? 0 : sorted[sorted.size() / 2];
}

size_t Trial::taken(uint64_t key) const {
  const auto it = ways_.taken.find(key);
  return it == ways_.taken.end() ? 0 : it->second;
}

std::map<uint64_t, double> possible_gains(const Model& model, const Ways& ways, const Trial& as_it_is, double run_ms,
                                          int threads, const Rates& rates) {
  const int cores = threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  bool tiles = false;  // matrix tiles multiply small types much faster than vectors do
  for (uint32_t d = 0; d < vireo_runtime_device_count(model.runtime()); ++d) {
    vireo_device_info device = VIREO_DEVICE_INFO_INIT;
    if (vireo_runtime_device(model.runtime(), d, &device, nullptr) == VIREO_OK && device.detail != nullptr)
      tiles = tiles || strstr(device.detail, "AMX") != nullptr;
  }
  std::map<uint64_t, double> gains;
  for (const vireo_node_info& node : as_it_is.nodes()) {
    const auto list = ways.all.find(node.key);
    const double us = as_it_is.us(node.key);
    if (list == ways.all.end() || list->second.size() < 2 || !isfinite(us)) continue;
    gains[node.key] += std::max(0.0, us - least_us(node, rates, tiles, cores));
  }
  for (auto it = gains.begin(); it != gains.end();) {
    it = it->second < kSmallGain * run_ms * 1e3 ? gains.erase(it) : std::next(it);
  }
  return gains;
}

LoadTuning tune_at_load(const Model& model, const SessionChoice& given, const Bounds& bounds,
                        const std::vector<Array>& inputs, double budget_ms, Tuning* tuning) {
  const Clock::time_point begin = Clock::now();
  std::vector<std::vector<vireo_string>> refs(inputs.size());
  std::vector<vireo_tensor> in(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype != VIREO_NONE) in[i] = view_of(inputs[i], &refs[i]);
  }
  LoadTuning told;
  Ways ways;
  const vireo_preference noting = {sizeof(vireo_preference), &ways, Ways::note, nullptr};
  SessionChoice choice = given;
  choice.preference = &noting;
  memory_of(model, choice, bounds);
  // What the file knows is taken as it is.
  bool unknown = false;
  for (const auto& [key, list] : ways.all) {
    const Tuning::Entry* const entry = tuning->find(key);
    const auto at =
        entry == nullptr ? list.end() : std::find(list.begin(), list.end(), Way{entry->device, entry->kernel});
    if (at != list.end()) ways.taken[key] = static_cast<size_t>(at - list.begin());
    unknown = unknown || (list.size() > 1 && entry == nullptr);  // no longer after a load that had the time
  }
  if (!unknown) {
    told.spent_ms = ms_since(begin);
    return told;
  }
  // A trial costs its session and some runs; one is begun only where there is time for as much as the first one took.
  const Clock::time_point first = Clock::now();
  Trial base(model, choice, bounds, ways);
  double run_ms = base.run(in);
  run_ms = std::min(run_ms, base.run(in));
  const double trial_ms = ms_since(first);
  std::vector<std::pair<double, uint64_t>> order;
  size_t most = 1;
  for (const auto& [key, gain] : possible_gains(model, ways, base, run_ms, choice.threads, tuning->rates())) {
    if (tuning->find(key) != nullptr) continue;
    order.emplace_back(gain, key);
    most = std::max(most, ways.all[key].size());
  }
  std::sort(order.begin(), order.end(), std::greater<>());
  told.worth = order.size();
  const auto time_for = [&](double ms) { return ms_since(begin) + ms < budget_ms; };
  std::vector<std::unique_ptr<Trial>> trials;
  for (size_t w = 1; w < most && time_for(trial_ms + 8 * run_ms); ++w) {
    Ways others = ways;
    for (const auto& [gain, key] : order) {
      if (w < ways.all[key].size()) others.taken[key] = w;
    }
    trials.push_back(std::make_unique<Trial>(model, choice, bounds, others));
    trials.back()->run(in);
  }
  // Half of what is left for rounds over all, the rest for the whole.
  const double left = budget_ms - ms_since(begin), until = ms_since(begin) + left / 2;
  while (!trials.empty() && ms_since(begin) + run_ms * static_cast<double>(trials.size() + 1) < until) {
    base.run(in);
    for (const auto& trial : trials) trial->run(in);
  }
  Ways best = ways;
  const bool complete = order.empty() || !trials.empty();
  if (!trials.empty()) told.measured = order.size();
  for (const auto& [gain, key] : order) {
    double least = kWorthwhile * base.us(key);
    for (const auto& trial : trials) {
      if (trial->taken(key) == ways.taken[key] || trial->us(key) >= least) continue;
      least = trial->us(key);
      best.taken[key] = trial->taken(key);
    }
    told.changed += !trials.empty() && best.taken[key] != ways.taken[key] ? 1 : 0;
  }
  bool checked = told.changed == 0;
  if (told.changed > 0 && time_for(trial_ms + 4 * run_ms)) {
    Trial tuned(model, choice, bounds, best);
    tuned.run(in);
    tuned.forget();
    base.forget();
    int rounds = 0;
    for (; rounds < 2 || (rounds < 7 && time_for(2 * run_ms)); ++rounds) {
      base.run(in);
      tuned.run(in);
    }
    checked = true;
    if (tuned.median_ms() >= base.median_ms()) {
      best = ways;
      told.changed = 0;
    }
  }
  // Ways that the whole was not measured with are not kept: the next load tries again.
  if (!checked) told.changed = told.measured = 0;
  if (checked && complete) {
    // Of those that were not worth it too, so that the next load has nothing to find out.
    for (const auto& [key, list] : ways.all) {
      if (list.size() < 2 || tuning->find(key) != nullptr || !isfinite(base.us(key))) continue;
      const Way& way = list[best.taken[key]];
      tuning->put(key, {way.first, way.second, base.us(key), 0, {}});
    }
    tuning->write();
  }
  told.spent_ms = ms_since(begin);
  return told;
}

}  // namespace vireo::cli
