// vireo devices: what this machine can run models on.
#include <CLI/CLI.hpp>
#include <iostream>

#include "c_api/tool/app.h"
#include "c_api/tool/measure.h"
#include "c_api/tool/speeds.h"

namespace vireo::tool {
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

void devices(bool json, bool measure) {
  vireo_error error = VIREO_ERROR_INIT;
  vireo_runtime* made = nullptr;
  check(vireo_runtime_create(nullptr, &made, &error), error, "start the runtime");
  const Runtime runtime(made);
  if (measure) measure_devices(runtime.get());
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows{{"device", "delegate", "detail"}};
  for (uint32_t i = 0; i < vireo_runtime_device_count(runtime.get()); ++i) {
    vireo_device_info info = VIREO_DEVICE_INFO_INIT;
    check(vireo_runtime_device(runtime.get(), i, &info, &error), error, "read device " + std::to_string(i));
    list.push_back({{"name", text(info.name)}, {"delegate", text(info.delegate)}, {"detail", text(info.detail)}});
    add_facts(info, &list.back());
    add_speeds(info, &list.back());
    rows.push_back({text(info.name), text(info.delegate), facts_text(info)});
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

void add_devices(CLI::App& app, Context&) {
  auto json = std::make_shared<bool>(false), measure = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand("devices", "List the devices of this machine");
  verb->add_flag("--json", *json, "print as JSON");
  verb->add_flag("--measure", *measure, "measure what they do, and keep it in your cache");
  verb->footer("Examples:\n  vireo devices\n  vireo devices --measure");
  verb->callback([json, measure] { devices(*json, *measure); });
}

}  // namespace vireo::tool
