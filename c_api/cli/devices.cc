// vireo devices: what this machine can run models on.
#include <stdio.h>
#include <stdlib.h>

#include <iostream>

#include "c_api/cli/app.h"
#include "c_api/cli/inputs.h"
#include "c_api/cli/measure.h"
#include "c_api/cli/options.h"
#include "c_api/cli/speeds.h"
#include "vireo/telemetry.h"

namespace vireo::cli {
namespace {

std::string text(const char* s) { return s != nullptr ? s : ""; }

// What a device says of itself, for programs; numbers that it does not know are left out.
void add_facts(const vireo_device_info& info, Json* out) {
  Json& json = *out;
  for (const auto& [key, value] :
       {std::pair{"vendor", info.vendor}, {"family", info.family}, {"driver", info.driver}}) {
    if (value != nullptr) json[key] = value;
  }
  json["emulated"] = (info.flags & VIREO_DEVICE_EMULATED) != 0;
  json["unified_memory"] = (info.flags & VIREO_DEVICE_UNIFIED) != 0;
  json["matrix_units"] = (info.flags & VIREO_DEVICE_MATRIX) != 0;
  Json types = Json::array();
  for (int t = 1; t < 64; ++t) {
    if ((info.types >> t & 1) != 0) types.push_back(vireo_dtype_text(static_cast<vireo_dtype>(t)));
  }
  if (!types.empty()) json["types"] = types;
  if (info.memory_bytes != 0) json["memory_bytes"] = info.memory_bytes;
  if (info.local_bytes != 0) json["local_bytes"] = info.local_bytes;
  if (info.busy_watts > 0) json["watts"] = {{"idle", info.idle_watts}, {"busy", info.busy_watts}};
}

// The same on one line.
std::string facts_text(const vireo_device_info& info) {
  std::string line;
  const auto say = [&line](const std::string& what) { line += (line.empty() || what.empty() ? "" : ", ") + what; };
  say(text(info.detail));
  say(text(info.vendor));
  say(text(info.family));
  if (info.driver != nullptr) say("driver " + text(info.driver));
  if ((info.flags & VIREO_DEVICE_EMULATED) != 0) say("emulated: used where it is named");
  return line;
}

// How it is at the moment, for programs, and as a line for people.
std::string add_state(const vireo_runtime* runtime, uint32_t index, Json* out) {
  static const char* const kPower[] = {"", "off", "idle", "busy", "throttled"};
  vireo_telemetry now = VIREO_TELEMETRY_INIT;
  vireo_error error = VIREO_ERROR_INIT;
  const vireo_status status = vireo_runtime_telemetry(runtime, index, &now, &error);
  if (status != VIREO_UNSUPPORTED && status != VIREO_DEVICE_LOST)
    check(status, error, "ask device " + std::to_string(index) + " how it is");
  const std::string power = now.power < std::size(kPower) ? kPower[now.power] : "";
  Json& state = (*out)["state"];
  state["answers"] = status != VIREO_DEVICE_LOST;
  if (!power.empty()) state["power"] = power;
  if (now.temperature_c != 0) state["temperature_c"] = now.temperature_c;
  if (now.clock_mhz > 0) state["clock_mhz"] = now.clock_mhz;
  if (now.memory_used != 0) state["memory_used"] = now.memory_used;
  if (now.resets != 0) state["resets"] = now.resets;
  std::string line = status == VIREO_DEVICE_LOST ? "does not answer" : power.empty() ? "ready" : power;
  char number[48];
  if (now.temperature_c != 0) {
    snprintf(number, sizeof(number), ", %.0f C", now.temperature_c);
    line += number;
  }
  if (now.clock_mhz > 0) {
    snprintf(number, sizeof(number), ", %.0f MHz", now.clock_mhz);
    line += number;
  }
  return line;
}

struct Query {
  std::string model, vendors;
  std::vector<std::string> prices, shapes, bounds;
  double memory_mib = 0, latency_ms = 0, energy_mj = 0, cost = 0;
  bool emulated = false;
};

// vireo_model_devices.
void choose(const Query& query, bool json, const Context& context) {
  const Model model(query.model, 0, context.extensions.convert);
  Bounds bounds;
  std::vector<std::string> assumed;
  (void)inputs_to_measure(model, {}, query.shapes, query.bounds, &bounds, &assumed);
  const vireo_runtime* runtime = model.runtime();
  std::vector<double> prices(vireo_runtime_device_count(runtime), 0);
  for (const std::string& text : query.prices) {
    const auto [name, value] = split_assignment(text);
    char* end = nullptr;
    const double price = strtod(value.c_str(), &end);
    bool found = false;
    for (uint32_t i = 0; i < prices.size(); ++i) {
      vireo_device_info info = VIREO_DEVICE_INFO_INIT;
      vireo_error error = VIREO_ERROR_INIT;
      check(vireo_runtime_device(runtime, i, &info, &error), error, "read device " + std::to_string(i));
      if (name != info.name) continue;
      prices[i] = price;
      found = true;
    }
    if (!found || value.empty() || *end != 0 || !(price >= 0))
      throw Failure("--price " + text + " is no DEVICE=PRICE of a device here: `vireo devices` lists them");
  }
  vireo_limits limits = VIREO_LIMITS_INIT;
  limits.emulated = query.emulated ? 1 : 0;
  limits.memory_bytes = static_cast<uint64_t>(query.memory_mib * 1024 * 1024);
  limits.latency_ns = query.latency_ms * 1e6;
  limits.energy_j = query.energy_mj * 1e-3;
  limits.cost = query.cost;
  limits.vendors = query.vendors.c_str();
  limits.prices = prices.data();
  const std::vector<vireo_bound> list = bounds.list();
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.bounds = list.data();
  options.bound_count = static_cast<uint32_t>(list.size());
  uint32_t count = 0;
  std::vector<vireo_device_choice> choices(prices.size(), VIREO_DEVICE_CHOICE_INIT);
  vireo_error error = VIREO_ERROR_INIT;
  check(vireo_model_devices(model.get(), &options, &limits, choices.data(), static_cast<uint32_t>(choices.size()),
                            &count, &error),
        error, "compare the devices");
  Json rows = Json::array();
  std::vector<std::vector<std::string>> table{{"devices", "nodes there", "run", "known by", "energy", "memory", ""}};
  for (uint32_t i = 0; i < count; ++i) {
    const vireo_device_choice& c = choices[i];
    rows.push_back({{"devices", c.devices},
                    {"fits", c.fits != 0},
                    {"reason", c.reason},
                    {"expected_ms", c.expected_ns * 1e-6},
                    {"source", c.source},
                    {"energy_mj", c.energy_j > 0 ? Json(c.energy_j * 1e3) : Json()},
                    {"cost", c.cost},
                    {"memory_bytes", c.memory_bytes},
                    {"nodes", c.node_count},
                    {"nodes_there", c.nodes_there}});
    const auto number = [](double v, const char* unit) {
      char out[48];
      snprintf(out, sizeof(out), "%.3g %s", v, unit);
      return std::string(out);
    };
    const bool ran = c.node_count != 0;
    table.push_back({c.devices, ran ? std::to_string(c.nodes_there) + " of " + std::to_string(c.node_count) : "-",
                     ran ? number(c.expected_ns * 1e-6, "ms") : "-", ran ? c.source : "-",
                     c.energy_j > 0 ? number(c.energy_j * 1e3, "mJ") : "-", ran ? bytes_text(c.memory_bytes) : "-",
                     c.fits != 0 ? "" : std::string("no: ") + c.reason});
  }
  if (json) return print_json({{"model", query.model}, {"choices", rows}, {"assumed", assumed}});
  for (const std::string& line : assumed) std::cout << line << "\n";
  std::cout << table_text(table);
}

void devices(bool json, bool measure) {
  vireo_error error = VIREO_ERROR_INIT;
  vireo_runtime* made = nullptr;
  check(vireo_runtime_create(nullptr, &made, &error), error, "start the runtime");
  const Runtime runtime(made);
  if (measure) measure_devices(runtime.get());
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows{{"device", "delegate", "state", "detail"}};
  for (uint32_t i = 0; i < vireo_runtime_device_count(runtime.get()); ++i) {
    vireo_device_info info = VIREO_DEVICE_INFO_INIT;
    check(vireo_runtime_device(runtime.get(), i, &info, &error), error, "read device " + std::to_string(i));
    list.push_back({{"name", text(info.name)}, {"delegate", text(info.delegate)}, {"detail", text(info.detail)}});
    add_facts(info, &list.back());
    add_speeds(info, &list.back());
    const std::string state = add_state(runtime.get(), i, &list.back());
    rows.push_back({text(info.name), text(info.delegate), state, facts_text(info)});
  }
  Json plugins = Json::array();
  std::string refused;
  for (uint32_t i = 0; i < vireo_runtime_plugin_count(runtime.get()); ++i) {
    vireo_plugin_info info = VIREO_PLUGIN_INFO_INIT;
    check(vireo_runtime_plugin(runtime.get(), i, &info, &error), error, "read plug-in " + std::to_string(i));
    plugins.push_back({{"path", info.path}, {"devices", info.device_count}, {"reason", info.reason}});
    if (info.reason[0] != 0) refused += std::string("not used: ") + info.path + ": " + info.reason + "\n";
  }
  if (json) return print_json({{"devices", list}, {"plugins", plugins}});
  std::cout << table_text(rows) << refused;
  const std::string speeds = speeds_table(runtime.get());
  std::cout << (speeds.empty() ? "" : "\n" + speeds);
}

}  // namespace

void add_devices(Command app, Context& context) {
  auto json = std::make_shared<bool>(false), measure = std::make_shared<bool>(false);
  auto query = std::make_shared<Query>();
  Command verb = app.add_verb("devices", "List the devices of this machine, or those for a model");
  add_json(verb, json.get());
  verb.add_flag("--measure", *measure, "measure the speed of each device, and keep it in your cache");
  const Option model =
      verb.add_option("--for", query->model, "compare the devices for this model; those within the limits come first")
          .file({".vireo", ".onnx"});
  const auto limit = [&](const char* name, double* value, const char* help) {
    verb.add_option(name, *value, help).needs(model).positive();
  };
  limit("--memory", &query->memory_mib, "most MiB that a session takes with its weights");
  limit("--latency", &query->latency_ms, "most milliseconds that a run takes");
  limit("--energy", &query->energy_mj, "most millijoules that a run takes");
  limit("--cost", &query->cost, "most that a run costs, at the prices of --price");
  verb.add_repeated("--price", query->prices, "what a second on a device costs: DEVICE=PRICE");
  verb.add_option("--vendors", query->vendors, "preferred vendors with commas between them, best first");
  verb.add_flag("--emulated", query->emulated, "also consider devices that are emulated in software");
  add_shapes(verb, &query->shapes);
  add_bounds(verb, &query->bounds);
  verb.footer(
      "Times of --for come from the compilers of the devices, else from measured rates (--measure), else\n"
      "from declared ones; `vireo bench` measures them.\n"
      "Examples:\n  vireo devices\n  vireo devices --measure\n"
      "  vireo devices --for model.vireo --latency 5 --memory 16 --emulated --plugins plugins/");
  verb.callback([json, measure, query, &context] {
    if (query->model.empty()) {
      if (!query->prices.empty() || !query->vendors.empty() || query->emulated)
        throw Failure("--price, --vendors and --emulated go with --for MODEL");
      return devices(*json, *measure);
    }
    choose(*query, *json, context);
  });
}

}  // namespace vireo::cli
