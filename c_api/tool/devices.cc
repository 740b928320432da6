// vireo devices: what this machine can run models on.
#include <CLI/CLI.hpp>
#include <iostream>

#include "c_api/tool/app.h"
#include "c_api/tool/measure.h"
#include "c_api/tool/speeds.h"

namespace vireo::tool {
namespace {

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
    const auto text = [](const char* s) { return std::string(s != nullptr ? s : ""); };
    list.push_back({{"name", text(info.name)}, {"delegate", text(info.delegate)}, {"detail", text(info.detail)}});
    add_speeds(info, &list.back());
    rows.push_back({text(info.name), text(info.delegate), text(info.detail)});
  }
  if (json) return print_json({{"devices", list}});
  std::cout << table_text(rows);
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
