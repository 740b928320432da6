#include "c_api/cli/placements.h"

#include <stdio.h>

#include <set>
#include <utility>

#include "c_api/cli/app.h"
#include "c_api/cli/growing.h"

namespace vireo::cli {
namespace {

bool same_bits(const Array& a, const Array& b) {
  return a.dtype == b.dtype && a.dims == b.dims && a.bytes == b.bytes && a.strings == b.strings;
}

// How many nodes each device has, and how often the device changes from one node to the next.
std::map<std::string, int64_t> count_nodes(const vireo_session* session, int64_t* cuts) {
  std::map<std::string, int64_t> nodes;
  std::string before;
  *cuts = 0;
  for (const vireo_node_info& n : nodes_of(session)) {
    if (n.device == nullptr || n.device[0] == 0) continue;
    ++nodes[n.device];
    if (!before.empty() && before != n.device) ++*cuts;
    before = n.device;
  }
  return nodes;
}

using Places = std::set<std::pair<std::string, std::string>>;  // nodes and the devices that run them

Places places_of(const vireo_session* session) {
  Places places;
  for (const vireo_node_info& n : nodes_of(session)) {
    const std::string device = n.device == nullptr ? "" : n.device;
    if (!device.empty() && device != "cpu" && device != "-") places.emplace(n.name, device);
  }
  return places;
}

// What came of one placement.
struct Outcome {
  std::map<std::string, int64_t> nodes;
  Places places;
  int64_t cuts = 0;
  uint32_t failovers = 0;
  bool identical = true, pass = true;
  double max_abs = 0;
  std::string reason;  // the first

  void fail(const std::string& why) {
    identical = pass = false;
    if (reason.empty()) reason = why;
  }

  void compare_with(const Model& model, const Answers& want, const Answers& got, const Tolerance& tolerance) {
    for (size_t k = 0; k < want.size(); ++k) {
      for (size_t j = 0; j < want[k].size(); ++j) {
        if (same_bits(got[k][j], want[k][j])) continue;
        identical = false;
        const Difference d = compare(got[k][j], want[k][j], tolerance);
        if (d.max_abs > max_abs) max_abs = d.max_abs;
        if (d.pass) continue;
        fail(std::string("output '") + model.outputs()[j].name + "' of case " + std::to_string(k) + ": " + d.reason);
      }
    }
  }
};

}  // namespace

int32_t RandomPlacement::rank(void* context, const vireo_candidate* candidate) {
  auto& self = *static_cast<RandomPlacement*>(context);
  const auto next = static_cast<uint32_t>(self.order_.size());
  const uint32_t node = self.order_.emplace(candidate->node, next).first->second;
  const std::string drawn =
      std::to_string(self.seed_) + "/" + std::to_string(node / self.block()) + "/" + candidate->device;
  uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char c : drawn) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3;
  return static_cast<int32_t>(1 + (hash >> 20) % 1000000);
}

Answers run_cases(const Model& model, vireo_session* session, const std::vector<std::vector<Array>>& cases) {
  Answers out;
  for (const std::vector<Array>& inputs : cases) {
    vireo_error error = VIREO_ERROR_INIT;
    check(vireo_session_reset(session, &error), error, "reset the carried state");
    out.push_back(run_once(model, session, inputs));
  }
  return out;
}

Answers answers_of_cpu(const Model& model, const SessionChoice& choice, Bounds* bounds,
                       const std::vector<std::vector<Array>>& cases) {
  SessionChoice alone = choice;
  alone.device = "cpu";
  alone.require.clear();
  alone.target = "none";
  for (const std::vector<Array>& inputs : cases) *bounds = fitted_bounds(model, alone, *bounds, inputs);
  return run_cases(model, make_session(model, alone, *bounds).get(), cases);
}

Json try_placements(const Model& model, const SessionChoice& choice, const Bounds& bounds,
                    const std::vector<std::vector<Array>>& cases, const Answers& want, int count, uint64_t seed,
                    const Tolerance& tolerance) {
  Json result = {{"pass", true}, {"share", Json::object()}, {"placements", Json::array()}};
  std::map<std::string, int64_t> total;
  int64_t all = 0;
  Places good, bad;  // of any that passes; of each that fails
  bool any_bad = false;
  Progress progress;
  for (int i = 0; i < count; ++i) {
    progress.show("placements of " + model.name(), static_cast<size_t>(i), static_cast<size_t>(count));
    RandomPlacement drawn(seed + static_cast<uint64_t>(i));
    SessionChoice mixed = choice;
    mixed.preference = drawn.preference();
    mixed.target = "none";
    Outcome found;
    try {
      const Session session = make_session(model, mixed, bounds);
      found.nodes = count_nodes(session.get(), &found.cuts);
      found.places = places_of(session.get());
      found.compare_with(model, want, run_cases(model, session.get(), cases), tolerance);
      found.failovers = vireo_session_failover_count(session.get());
    } catch (const ApiFailure& failure) {
      found.fail(failure.what());
    }
    Json counts = Json::object();
    for (const auto& [device, n] : found.nodes) {
      total[device] += n;
      all += n;
      counts[device] = n;
    }
    if (!found.pass) result["pass"] = false;
    if (found.pass) good.insert(found.places.begin(), found.places.end());
    if (!found.pass && !found.places.empty()) {
      Places common;
      for (const auto& place : found.places) {
        if (!any_bad || bad.count(place) != 0) common.insert(place);
      }
      bad = common;
      any_bad = true;
    }
    result["placements"].push_back({{"seed", seed + static_cast<uint64_t>(i)},
                                    {"block", drawn.block()},
                                    {"nodes", std::move(counts)},
                                    {"cuts", found.cuts},
                                    {"failovers", found.failovers},
                                    {"identical", found.identical},
                                    {"max_abs", found.max_abs},
                                    {"pass", found.pass},
                                    {"reason", found.reason}});
  }
  for (const auto& [device, n] : total)
    result["share"][device] = all == 0 ? 0.0 : static_cast<double>(n) / static_cast<double>(all);
  result["suspects"] = Json::array();
  for (const auto& [node, device] : bad) {
    if (good.count({node, device}) == 0) result["suspects"].push_back({{"node", node}, {"device", device}});
  }
  return result;
}

std::string placements_text(const Json& tried) {
  std::vector<std::vector<std::string>> rows{{"seed", "block", "nodes", "cuts", "max_abs", ""}};
  for (const Json& p : tried["placements"]) {
    std::string nodes;
    for (const auto& [device, n] : p["nodes"].items())
      nodes += (nodes.empty() ? "" : ", ") + device + " " + std::to_string(n.get<int64_t>());
    char max_abs[32];
    snprintf(max_abs, sizeof(max_abs), "%.3g", p["max_abs"].get<double>());
    rows.push_back({std::to_string(p["seed"].get<uint64_t>()), std::to_string(p["block"].get<uint32_t>()), nodes,
                    std::to_string(p["cuts"].get<int64_t>()), max_abs,
                    !p["pass"].get<bool>() ? "FAIL " + p["reason"].get<std::string>()
                    : p["failovers"].get<uint32_t>() > 0
                        ? "pass, " + std::to_string(p["failovers"].get<uint32_t>()) + " parts went elsewhere"
                    : p["identical"].get<bool>() ? "pass, identical"
                                                 : "pass"});
  }
  std::string text = table_text(rows);
  std::string suspects;
  size_t count = 0;
  for (const Json& s : tried["suspects"]) {
    if (++count <= 10)
      suspects +=
          (suspects.empty() ? "\"" : ", \"") + s["node"].get<std::string>() + "\" on " + s["device"].get<std::string>();
  }
  if (count > 10) suspects += " and " + std::to_string(count - 10) + " more";
  if (count != 0) text += "in every placement that fails and in none that passes: " + suspects + "\n";
  return text;
}

}  // namespace vireo::cli
