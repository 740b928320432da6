#include "c_api/cli/bench_fleet.h"

#include <stdio.h>
#include <string.h>

#include <iostream>
#include <sstream>

#include "c_api/cli/app.h"
#include "c_api/cli/clock.h"
#include "vireo/fleet.h"

namespace vireo::cli {
namespace {

// Runs a second of one session, a few runs warm.
double single(const Model& model, const SessionChoice& choice, const Bounds& bounds,
              const std::vector<vireo_tensor>& inputs, double seconds) {
  const Session session = make_session(model, choice, bounds);
  vireo_error error = VIREO_ERROR_INIT;
  const auto once = [&] {
    check_file(
        vireo_session_run(session.get(), inputs.data(), static_cast<uint32_t>(inputs.size()), nullptr, 0, &error),
        error, "run", model.name());
  };
  for (int i = 0; i < 3; ++i) once();
  uint64_t runs = 0;
  const Clock::time_point begin = Clock::now();
  for (; runs < 3 || seconds_since(begin) < seconds; ++runs) once();
  return static_cast<double>(runs) / seconds_since(begin);
}

struct ReleaseFleet {
  void operator()(vireo_pipeline* p) const { vireo_pipeline_release(p); }
  void operator()(vireo_split* s) const { vireo_split_release(s); }
};

}  // namespace

void bench_pipeline(const Model& model, const SessionChoice& choice, const Bounds& bounds,
                    const std::vector<vireo_tensor>& inputs, const FleetRequest& request) {
  vireo_error error = VIREO_ERROR_INIT;
  const std::vector<vireo_bound> list = complete(model, choice, bounds, true);
  vireo_session_options session = options_of(choice, list);
  session.profile = 1;
  vireo_pipeline_options options = VIREO_PIPELINE_OPTIONS_INIT;
  options.depth = request.depth;
  options.session = &session;
  vireo_pipeline* made = nullptr;
  check_file(vireo_pipeline_create(model.get(), &options, &made, &error), error, "make a pipeline of", model.name());
  const std::unique_ptr<vireo_pipeline, ReleaseFleet> pipeline(made);
  vireo_estimate chosen = VIREO_ESTIMATE_INIT;
  check_file(vireo_pipeline_estimate(made, &chosen, nullptr, 0, &error), error, "tell the placement of", model.name());
  SessionChoice same = choice;  // the single session on the same devices
  if (same.target.empty()) same.device = chosen.devices;
  const double alone = single(model, same, bounds, inputs, request.seconds / 2);

  uint64_t submitted = 0, finished = 0;
  const auto take = [&] {
    vireo_finished f = VIREO_FINISHED_INIT;
    check_file(vireo_pipeline_wait(made, UINT64_MAX, &f, &error), error, "run", model.name());
    check_file(f.status, error, "run", model.name());
    ++finished;
  };
  const Clock::time_point begin = Clock::now();
  while (submitted < 2 * request.depth || seconds_since(begin) < request.seconds) {
    if (submitted - finished == 2 * request.depth) take();
    check_file(vireo_pipeline_submit(made, inputs.data(), static_cast<uint32_t>(inputs.size()), nullptr, 0, nullptr,
                                     VIREO_WHEN_FULL_WAIT, &error),
               error, "run", model.name());
    ++submitted;
  }
  while (finished < submitted) take();
  const double spent = seconds_since(begin), together = static_cast<double>(finished) / spent;
  vireo_load loads[VIREO_FLEET_DEVICES] = {VIREO_LOAD_INIT};
  uint32_t count = 0;
  check_file(vireo_pipeline_loads(made, loads, VIREO_FLEET_DEVICES, &count, &error), error, "read the times of",
             model.name());
  Json busy = Json::array();
  for (uint32_t i = 0; i < count && i < VIREO_FLEET_DEVICES; ++i)
    busy.push_back(
        {{"device", loads[i].device}, {"nodes", loads[i].nodes}, {"share", loads[i].busy_ns * 1e-9 / spent}});
  if (request.json) {
    return print_json({{"model", model.name()},
                       {"depth", request.depth},
                       {"devices", chosen.devices},
                       {"why", chosen.reason},
                       {"expected_runs_per_second", chosen.runs_per_second > 0 ? Json(chosen.runs_per_second) : Json()},
                       {"single_runs_per_second", alone},
                       {"runs_per_second", together},
                       {"ratio", together / alone},
                       {"busy", busy}});
  }
  std::cout << formatted("placement %s: %s\n", chosen.devices, chosen.reason);
  std::cout << formatted("one session %.1f runs/s, pipeline of %u %.1f runs/s: %.2f times\n", alone, request.depth,
                         together, together / alone);
  for (const Json& b : busy)
    std::cout << formatted(
        "  %s: %d nodes, busy for %.0f%% of the time (waiting for it included, summed over sessions)\n",
        b["device"].get<std::string>().c_str(), b["nodes"].get<int>(), 100 * b["share"].get<double>());
}

void bench_split(const Model& model, const SessionChoice& choice, const Bounds& bounds,
                 const std::vector<vireo_tensor>& inputs, const FleetRequest& request) {
  vireo_error error = VIREO_ERROR_INIT;
  std::vector<std::string> names;
  std::stringstream text(request.split);
  // A device may leave nodes to the host.
  for (std::string name; std::getline(text, name, ',');) names.push_back(name == "cpu" ? name : name + ",cpu");
  std::vector<const char*> devices;
  for (const std::string& name : names) devices.push_back(name.c_str());
  const char* const batch = model.inputs().empty() ? nullptr : model.inputs()[0].dim_names[0];
  std::vector<vireo_bound> others;
  for (const vireo_bound& b : complete(model, choice, bounds, true)) {
    if (batch == nullptr || strcmp(b.name, batch) != 0) others.push_back(b);
  }
  vireo_session_options session = options_of(choice, others);
  vireo_split_options options = VIREO_SPLIT_OPTIONS_INIT;
  options.device_count = static_cast<uint32_t>(devices.size());
  options.devices = devices.data();
  options.batch = request.batch;
  options.session = &session;
  vireo_split* made = nullptr;
  check_file(vireo_split_create(model.get(), &options, &made, &error), error, "split", model.name());
  const std::unique_ptr<vireo_split, ReleaseFleet> split(made);
  Json alone = Json::object();
  for (size_t i = 0; i < names.size(); ++i) {
    SessionChoice one = choice;
    one.device = names[i];
    alone[names[i]] = single(model, one, bounds, inputs, request.seconds / 2);
  }
  const auto once = [&] {
    check_file(vireo_split_run(made, inputs.data(), static_cast<uint32_t>(inputs.size()), nullptr, 0, &error), error,
               "run", model.name());
  };
  for (int i = 0; i < 8; ++i) once();  // shares settle
  uint64_t runs = 0;
  const Clock::time_point begin = Clock::now();
  for (; runs < 3 || seconds_since(begin) < request.seconds; ++runs) once();
  const double together = static_cast<double>(runs) / seconds_since(begin);
  Json shares = Json::array();
  for (uint32_t i = 0; i < options.device_count; ++i) {
    vireo_share s = VIREO_SHARE_INIT;
    check_file(vireo_split_share(made, i, &s, &error), error, "read the shares of", model.name());
    shares.push_back({{"devices", s.device}, {"rows", s.rows}, {"row_us", s.row_ns / 1000}, {"lost", s.lost != 0}});
  }
  if (request.json) {
    return print_json({{"model", model.name()},
                       {"batch", request.batch},
                       {"batches_per_second", together},
                       {"single_batches_per_second", alone},
                       {"shares", shares}});
  }
  for (const auto& [name, rate] : alone.items())
    std::cout << formatted("%s alone %.1f batches/s\n", name.c_str(), rate.get<double>());
  std::cout << formatted("split %.1f batches/s of %lld rows\n", together, static_cast<long long>(request.batch));
  for (const Json& s : shares)
    std::cout << formatted("  %s: %lld rows, %.1f us a row%s\n", s["devices"].get<std::string>().c_str(),
                           static_cast<long long>(s["rows"].get<int64_t>()), s["row_us"].get<double>(),
                           s["lost"].get<bool>() ? ", lost" : "");
}

}  // namespace vireo::cli
