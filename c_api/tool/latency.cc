#include "c_api/tool/latency.h"

#include <string.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "c_api/tool/growing.h"
#include "c_api/tool/roofline.h"

namespace vireo::tool {
namespace {

using Clock = std::chrono::steady_clock;

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

}  // namespace

Json latency_json(const Model& model, const vireo_session* session, double median_ms, int threads) {
  const std::vector<vireo_node_info> nodes = nodes_of(session);
  const Rates rates = measure_rates();
  const bool tiles = has_tiles(model);
  const int cores = threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  double total = 0;
  uint64_t runs = 1;
  for (const vireo_node_info& n : nodes) {
    if (n.depth != 0) continue;
    total += static_cast<double>(n.total_ns);
    runs = std::max(runs, n.calls);
  }
  Json list = Json::array();
  for (const vireo_node_info& n : nodes) {
    Json entry = {{"name", n.name},
                  {"op", n.op},
                  {"device", n.device},
                  {"kernel", n.kernel},
                  {"depth", n.depth},
                  {"calls", n.calls},
                  {"mean_us", static_cast<double>(n.total_ns) / static_cast<double>(runs) / 1000},
                  {"share", total > 0 ? static_cast<double>(n.total_ns) / total : 0.0},
                  {"operations", n.operations},
                  {"bytes", n.bytes}};
    // The rates are those of the CPU's cores; XNNPACK's kernels run on them as well.
    if (strcmp(n.device, "cpu") == 0 || strcmp(n.device, "xnnpack") == 0)
      entry["least_us"] = least_us(n, rates, tiles, cores);
    list.push_back(std::move(entry));
  }
  return {{"runs", runs},
          {"threads", threads},
          {"device", devices_of(session)},
          {"median_us", median_ms * 1000},
          {"nodes", std::move(list)}};
}

Json measure_latency(const Model& model, SessionChoice choice, const Bounds& bounds, const std::vector<Array>& inputs,
                     double seconds) {
  choice.profile = true;
  const Session session = make_session(model, choice, fitted_bounds(model, choice, bounds, inputs));
  run_once(model, session.get(), inputs);
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  while (times.size() < 3 || std::chrono::duration<double>(Clock::now() - begin).count() < seconds) {
    const Clock::time_point start = Clock::now();
    run_once(model, session.get(), inputs);
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return latency_json(model, session.get(), times[times.size() / 2], choice.threads);
}

}  // namespace vireo::tool
