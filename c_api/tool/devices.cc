// vireo devices: what this machine can run models on.
#include <CLI/CLI.hpp>
#include <iostream>

#include "c_api/tool/app.h"

namespace vireo::tool {
namespace {

void devices(bool json) {
  vireo_error error = VIREO_ERROR_INIT;
  vireo_runtime* made = nullptr;
  check(vireo_runtime_create(nullptr, &made, &error), error, "start the runtime");
  const Runtime runtime(made);
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows{{"device", "delegate", "detail"}};
  for (uint32_t i = 0; i < vireo_runtime_device_count(runtime.get()); ++i) {
    vireo_device_info info = VIREO_DEVICE_INFO_INIT;
    check(vireo_runtime_device(runtime.get(), i, &info, &error), error, "read device " + std::to_string(i));
    const auto text = [](const char* s) { return std::string(s != nullptr ? s : ""); };
    list.push_back({{"name", text(info.name)}, {"delegate", text(info.delegate)}, {"detail", text(info.detail)}});
    rows.push_back({text(info.name), text(info.delegate), text(info.detail)});
  }
  if (json) return print_json({{"devices", list}});
  std::cout << table_text(rows);
}

}  // namespace

void add_devices(CLI::App& app, Context&) {
  auto json = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand("devices", "List the devices of this machine");
  verb->add_flag("--json", *json, "print as JSON");
  verb->footer("Example:\n  vireo devices");
  verb->callback([json] { devices(*json); });
}

}  // namespace vireo::tool
