#include "c_api/cli/latency.h"

#include <string.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "c_api/cli/clock.h"
#include "c_api/cli/growing.h"
#include "c_api/cli/roofline.h"

namespace vireo::cli {
namespace {

// Matrix tiles multiply small types much faster than vectors do.
bool has_tiles(const Model& model) {
  for (uint32_t d = 0; d < vireo_runtime_device_count(model.runtime()); ++d) {
    vireo_device_info device = VIREO_DEVICE_INFO_INIT;
    if (vireo_runtime_device(model.runtime(), d, &device, nullptr) == VIREO_OK && device.detail != nullptr &&
        strstr(device.detail, "AMX") != nullptr)
      return true;
  }
  return false;
}

// A page holds thousands of times: no more digits than clocks have (nanoseconds), and of shares millionths.
double rounded(double us) { return std::round(us * 1e3) / 1e3; }
double rounded_share(double share) { return std::round(share * 1e6) / 1e6; }
Percentiles rounded(const Percentiles& t) { return {rounded(t.p10), rounded(t.p50), rounded(t.p90)}; }

// The run of each quantile is one that took place: the nearest.
Json timeline_of(const RunLog& log) {
  std::vector<const TracedRun*> runs;
  for (const TracedRun& run : log.runs()) runs.push_back(&run);
  std::stable_sort(runs.begin(), runs.end(),
                   [](const TracedRun* a, const TracedRun* b) { return a->wall_us() < b->wall_us(); });
  Json out = Json::array();
  for (const double q : {0.1, 0.5, 0.9}) {
    if (runs.empty()) break;
    const TracedRun& run = *runs[static_cast<size_t>(std::lround(q * static_cast<double>(runs.size() - 1)))];
    Json slices = Json::array();
    for (const Slice& s : slices_of(log.nodes(), run)) {
      Json slice = Json::array();
      slice.push_back(s.node);
      slice.push_back(rounded(s.start_us));
      slice.push_back(rounded(s.length_us));
      slices.push_back(std::move(slice));
    }
    out.push_back({{"quantile", q}, {"wall_us", rounded(run.wall_us())}, {"slices", std::move(slices)}});
  }
  return out;
}

// What node `i` takes at least on a device that is not the CPU; 0: its rates are not known. A node that runs with those
// before it has no time of its own, and its operations are theirs.
double least_there_us(const Model& model, const std::vector<vireo_node_info>& nodes,
                      const std::vector<Percentiles>& times, size_t i) {
  const vireo_node_info& n = nodes[i];
  if (times[i].p50 <= 0) return 0;
  auto operations = static_cast<double>(n.operations);
  for (size_t k = i + 1; k < nodes.size() && times[k].p50 <= 0 && strcmp(nodes[k].device, n.device) == 0; ++k)
    operations += static_cast<double>(nodes[k].operations);
  for (uint32_t d = 0; d < vireo_runtime_device_count(model.runtime()); ++d) {
    vireo_device_info device = VIREO_DEVICE_INFO_INIT;
    if (vireo_runtime_device(model.runtime(), d, &device, nullptr) == VIREO_OK && strcmp(device.name, n.device) == 0)
      return least_us(device, n.dtype, operations, static_cast<double>(n.bytes));
  }
  return 0;
}

}  // namespace

Json latency_json(const Model& model, const vireo_session* session, const RunLog& log, int threads) {
  const Rates rates = measure_rates();
  const bool tiles = has_tiles(model);
  const int cores = threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const Percentiles whole = rounded(log.wall_us());
  const std::vector<Percentiles> times = log.node_us();
  const Percentiles between = rounded(log.between_us());
  double rest = whole.p50 - between.p50;
  Json list = Json::array();
  for (size_t i = 0; i < times.size(); ++i) {
    const vireo_node_info& n = log.nodes()[i];
    const Percentiles t = rounded(times[i]);
    if (n.depth == 0) rest -= t.p50;
    Json entry = {{"name", n.name},
                  {"op", n.op},
                  {"device", n.device},
                  {"kernel", n.kernel},
                  {"depth", n.depth},
                  {"calls", n.calls},
                  {"p10_us", t.p10},
                  {"p50_us", t.p50},
                  {"p90_us", t.p90},
                  {"share", rounded_share(whole.p50 > 0 ? t.p50 / whole.p50 : 0.0)},
                  {"operations", n.operations},
                  {"bytes", n.bytes}};
    // The rates are those of the CPU's cores; XNNPACK's kernels run on them as well.
    if (strcmp(n.device, "cpu") == 0 || strcmp(n.device, "xnnpack") == 0) {
      entry["least_us"] = rounded(least_us(n, rates, tiles, cores));
    } else if (const double least = least_there_us(model, log.nodes(), times, i); least > 0) {
      entry["least_us"] = rounded(least);
      if (times[i].p50 > 2 * least) entry["under_half"] = true;
    }
    list.push_back(std::move(entry));
  }
  return {{"runs", log.count()},
          {"threads", threads},
          {"device", devices_of(session)},
          {"p10_us", whole.p10},
          {"median_us", whole.p50},
          {"p90_us", whole.p90},
          {"between", {{"p10_us", between.p10}, {"p50_us", between.p50}, {"p90_us", between.p90}}},
          {"rest_us", rounded(rest)},
          {"nodes", std::move(list)},
          {"timeline", timeline_of(log)}};
}

Json measure_latency(const Model& model, SessionChoice choice, const Bounds& bounds, const std::vector<Array>& inputs,
                     double seconds) {
  choice.profile = true;
  const Session session = make_session(model, choice, fitted_bounds(model, choice, bounds, inputs));
  run_once(model, session.get(), inputs);
  RunLog log(nodes_of(session.get()));
  const Clock::time_point begin = Clock::now();
  const auto now_us = [&] { return std::chrono::duration<double, std::micro>(Clock::now() - begin).count(); };
  while (log.count() < 3 || now_us() < seconds * 1e6) {
    TracedRun run;
    run.start_us = now_us();
    run_once(model, session.get(), inputs);
    run.end_us = now_us();
    log.add(std::move(run), nodes_of(session.get()));
  }
  return latency_json(model, session.get(), log, choice.threads);
}

}  // namespace vireo::cli
