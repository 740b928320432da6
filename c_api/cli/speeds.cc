#include "c_api/cli/speeds.h"

#include <math.h>
#include <stdio.h>

#include <filesystem>
#include <iostream>
#include <thread>
#include <utility>
#include <vector>

#include "c_api/cli/app.h"
#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"
#include "c_api/cli/handles.h"
#include "c_api/cli/machine.h"

namespace vireo::cli {
namespace {

constexpr int kVersion = 2;

struct Field {
  const char* name;
  double Speeds::*value;
};
constexpr Field kFields[] = {{"f32_rate", &Speeds::f32_rate},      {"f16_rate", &Speeds::f16_rate},
                             {"i8_rate", &Speeds::i8_rate},        {"bandwidth", &Speeds::bandwidth},
                             {"transfer", &Speeds::transfer},      {"launch_ns", &Speeds::launch_ns},
                             {"transfer_ns", &Speeds::transfer_ns}};

bool known(double v) { return v > 0 && isfinite(v); }

Json json_of(const Speeds& speeds) {
  Json json = Json::object();
  for (const Field& f : kFields) json[f.name] = speeds.*f.value;
  return json;
}

// "412 G/s" to three figures.
std::string rate_text(double v) {
  const char* unit = "";
  for (const char* next : {"k", "M", "G", "T", "P"}) {
    if (v < 999.5) break;
    v /= 1000;
    unit = next;
  }
  char text[32];
  snprintf(text, sizeof(text), "%.3g %s/s", v, unit);
  return text;
}
std::string time_text(double ns) {
  char text[32];
  snprintf(text, sizeof(text), "%.1f us", ns / 1000);
  return text;
}

// "380 G/s (declared 500 G/s)", "declared 500 G/s", "-".
std::string cell(double measured, double declared, std::string (*text)(double)) {
  if (!known(measured)) return known(declared) ? "declared " + text(declared) : "-";
  return text(measured) + (known(declared) ? " (declared " + text(declared) + ")" : "");
}

std::optional<vireo_device_info> device_of(const vireo_runtime* runtime, uint32_t index) {
  vireo_device_info info = VIREO_DEVICE_INFO_INIT;
  return vireo_runtime_device(runtime, index, &info, nullptr) == VIREO_OK ? std::optional(info) : std::nullopt;
}

}  // namespace

std::string device_fingerprint(const vireo_device_info& info) {
  std::string text;
  for (const char* s : {info.name, info.delegate, info.detail, info.driver})
    text += std::string(s != nullptr ? s : "-") + "; ";
  const unsigned cores = std::thread::hardware_concurrency();
  return text + cpu_text() + "; " + std::to_string(cores) + " cores; " + version_text();
}

std::optional<Speeds> measured_speeds(const vireo_device_info& info) {
  const std::string fingerprint = device_fingerprint(info);
  std::string path;
  try {
    path = cache_file("devices", fingerprint);
  } catch (const Failure&) {  // no home: nothing was kept
    return std::nullopt;
  }
  std::error_code error;  // as in a folder of another user: nothing was kept there for this one
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  const auto refuse = [&](const std::string& why) {
    std::cerr << "note: " << path << " " << why << ": not used; vireo devices --measure writes it again\n";
    return std::nullopt;
  };
  Json json;
  try {
    const std::vector<uint8_t> bytes = read_file(path);
    json = parse_json(bytes);
  } catch (const Failure& e) {
    return refuse(std::string("cannot be read (") + e.what() + ")");
  }
  if (!json.is_object() || !json.contains("speeds") || !json["speeds"].is_object()) return refuse("is damaged");
  const Json* const version = json.find("vireo_device");
  const Json* const device = json.find("device");
  if (version == nullptr || *version != kVersion || device == nullptr || *device != fingerprint)
    return refuse("is of another version or device");
  Speeds speeds;
  for (const Field& f : kFields) {
    const Json* const value = json["speeds"].find(f.name);
    if (value == nullptr || !value->is_number() || !(value->get<double>() >= 0) || !isfinite(value->get<double>()))
      return refuse(std::string("is damaged (") + f.name + ")");
    speeds.*f.value = value->get<double>();
  }
  return speeds;
}

void keep_speeds(const vireo_device_info& info, const Speeds& speeds) {
  const std::string fingerprint = device_fingerprint(info), path = cache_file("devices", fingerprint);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);  // write_file tells
  const Json json = {{"vireo_device", kVersion}, {"device", fingerprint}, {"speeds", json_of(speeds)}};
  write_file(path, json_text(json, 1) + "\n");
}

Speeds declared_speeds(const vireo_device_info& info) {
  return {info.f32_rate, info.f16_rate, info.i8_rate, info.bandwidth, info.transfer, info.launch_ns, info.transfer_ns};
}

void use_measured_speeds(vireo_runtime* runtime) {
  for (uint32_t i = 0; i < vireo_runtime_device_count(runtime); ++i) {
    vireo_device_info info = VIREO_DEVICE_INFO_INIT;
    vireo_error error = VIREO_ERROR_INIT;
    check(vireo_runtime_device(runtime, i, &info, &error), error, "read device " + std::to_string(i));
    const std::optional<Speeds> speeds = measured_speeds(info);
    if (!speeds) continue;
    vireo_rates rates = VIREO_RATES_INIT;
    rates.f32_rate = speeds->f32_rate;
    rates.f16_rate = speeds->f16_rate;
    rates.i8_rate = speeds->i8_rate;
    rates.bandwidth = speeds->bandwidth;
    rates.transfer = speeds->transfer;
    rates.launch_ns = speeds->launch_ns > 0 ? speeds->launch_ns : -1;  // too short to be measured: nothing
    if (speeds->transfer > 0) rates.transfer_ns = speeds->transfer_ns > 0 ? speeds->transfer_ns : -1;
    check(vireo_runtime_set_rates(runtime, i, &rates, &error), error, "set the rates of device " + std::to_string(i));
  }
}

void add_speeds(const vireo_device_info& info, Json* device) {
  const std::optional<Speeds> measured = measured_speeds(info);
  (*device)["declared"] = json_of(declared_speeds(info));
  (*device)["measured"] = measured ? json_of(*measured) : Json();
}

std::string speeds_table(const vireo_runtime* runtime) {
  std::vector<std::vector<std::string>> rows{
      {"device", "float32", "16 bits", "int8", "memory", "transfer", "launch", "copy"}};
  bool any = false;
  for (uint32_t i = 0; i < vireo_runtime_device_count(runtime); ++i) {
    const std::optional<vireo_device_info> info = device_of(runtime, i);
    if (!info) continue;
    const std::optional<Speeds> measured = measured_speeds(*info);
    const Speeds m = measured.value_or(Speeds()), d = declared_speeds(*info);
    for (const Field& f : kFields) any = any || known(m.*f.value) || known(d.*f.value);
    rows.push_back({info->name, cell(m.f32_rate, d.f32_rate, rate_text), cell(m.f16_rate, d.f16_rate, rate_text),
                    cell(m.i8_rate, d.i8_rate, rate_text), cell(m.bandwidth, d.bandwidth, rate_text),
                    cell(m.transfer, d.transfer, rate_text), cell(m.launch_ns, d.launch_ns, time_text),
                    cell(m.transfer_ns, d.transfer_ns, time_text)});
  }
  return any ? table_text(rows) : "";
}

}  // namespace vireo::cli
