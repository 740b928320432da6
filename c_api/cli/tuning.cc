#include "c_api/cli/tuning.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <thread>
#include <vector>

#include "c_api/cli/app.h"
#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"
#include "c_api/cli/machine.h"

namespace vireo::cli {
namespace {

// What a measured time depends on besides the node: the CPU, what of it the kernels use, and the kernels themselves.
std::string fingerprint(const vireo_runtime* runtime) {
  std::string text = cpu_text();
  for (uint32_t d = 0; d < vireo_runtime_device_count(runtime); ++d) {
    vireo_device_info device = VIREO_DEVICE_INFO_INIT;
    if (vireo_runtime_device(runtime, d, &device, nullptr) != VIREO_OK) continue;
    text += std::string("; ") + device.name + " (" + (device.detail != nullptr ? device.detail : "") + ")";
  }
  return text + "; " + version_text();
}

std::string hex(uint64_t v) {
  char text[20];
  snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(v));
  return text;
}

}  // namespace

Tuning::Tuning(const std::string& file, const vireo_runtime* runtime, int threads, bool must_exist)
    : threads_(threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))),
      preference_{sizeof(vireo_preference), this, rank, time_ns} {
  if (file.empty()) return;
  cpu_ = fingerprint(runtime);
  path_ = file == "auto" ? cache_file("tuning", cpu_) : file;
  std::error_code error;  // what must be there and cannot be looked at, read_file says
  if (!std::filesystem::exists(path_, error) && !(error && must_exist)) {
    if (must_exist) throw Failure("there is no tuning file " + path_, "vireo tune MODEL writes one");
    return;
  }
  const std::vector<uint8_t> bytes = read_file(path_);
  read(std::string(bytes.begin(), bytes.end()));
}

void Tuning::read(const std::string& text) {
  const Json json = parse_json(text);
  const std::string help = "delete the file and run vireo tune again";
  if (!json.is_object() || !json.contains("vireo_tuning") || !json.contains("cpu") || !json["cpu"].is_string())
    throw Failure(path_ + " is no tuning file", help);
  foreign_ = json["vireo_tuning"] != kVersion || json["cpu"] != cpu_;
  if (foreign_) {
    std::cerr << "note: " << path_ << " was measured on another CPU or by another version: not used\n";
    return;
  }
  try {
    next_ = json.at("next").get<uint64_t>();
    if (json.contains("rates")) {
      const Json& rates = json.at("rates");
      rates_ = {rates.at("operations").get<double>(), rates.at("near_bytes").get<double>(),
                rates.at("far_bytes").get<double>()};
    }
    for (const Json& e : json.at("entries")) {
      const uint64_t key = std::stoull(e.at("key").get<std::string>(), nullptr, 16);
      Entry entry = {e.at("device").get<std::string>(),
                     e.at("kernel").get<std::string>(),
                     e.at("us").get<double>(),
                     e.at("used").get<uint64_t>(),
                     {}};
      for (const Json& o : e.at("others"))
        entry.others[{o.at("device").get<std::string>(), o.at("kernel").get<std::string>()}] = o.at("us").get<double>();
      entries_[{key, e.at("threads").get<int>()}] = std::move(entry);
    }
  } catch (const std::exception&) {  // of another type, or missing
    throw Failure(
        path_ + " is damaged: an entry lacks key, threads, device, kernel, us, used or others, or the rates a number",
        help);
  }
}

void Tuning::put(uint64_t key, Entry fastest) {
  fastest.used = next_++;
  entries_[{key, threads_}] = std::move(fastest);
  if (entries_.size() <= kMostEntries) return;
  entries_.erase(std::min_element(entries_.begin(), entries_.end(),
                                  [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
}

const Tuning::Entry* Tuning::find(uint64_t key) const {
  const auto it = entries_.find({key, threads_});
  return it == entries_.end() ? nullptr : &it->second;
}

const Rates& Tuning::rates() {
  const auto known = [](double rate) { return rate > 0 && rate < 1e18; };
  if (!known(rates_.operations) || !known(rates_.near_bytes) || !known(rates_.far_bytes)) rates_ = measure_rates();
  return rates_;
}

void Tuning::write() const {
  if (foreign_) {
    throw Failure(path_ + " holds what another CPU or version measured, and would be lost",
                  "name another file with -o, or delete this one");
  }
  Json entries = Json::array();
  for (const auto& [place, e] : entries_) {
    Json others = Json::array();
    for (const auto& [way, us] : e.others)
      others.push_back({{"device", way.first}, {"kernel", way.second}, {"us", us}});
    entries.push_back({{"key", hex(place.first)},
                       {"threads", place.second},
                       {"device", e.device},
                       {"kernel", e.kernel},
                       {"us", e.us},
                       {"used", e.used},
                       {"others", others}});
  }
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);  // what fails here, write_file tells
  Json json = {{"vireo_tuning", kVersion}, {"cpu", cpu_}, {"next", next_}, {"entries", entries}};
  if (rates_.operations > 0) {
    json["rates"] = {
        {"operations", rates_.operations}, {"near_bytes", rates_.near_bytes}, {"far_bytes", rates_.far_bytes}};
  }
  write_file(path_, json_text(json, 1) + "\n");
}

int32_t Tuning::rank(void* self, const vireo_candidate* candidate) {
  const Entry* entry = static_cast<const Tuning*>(self)->find(candidate->key);
  return entry != nullptr && entry->device == candidate->device && entry->kernel == candidate->kernel ? 1 : 0;
}

double Tuning::time_ns(void* self, const vireo_candidate* candidate) {
  const Entry* const entry = static_cast<const Tuning*>(self)->find(candidate->key);
  if (entry == nullptr) return 0;
  if (entry->device == candidate->device && entry->kernel == candidate->kernel) return 1000 * entry->us;
  const auto other = entry->others.find({candidate->device, candidate->kernel});
  return other == entry->others.end() ? 0 : 1000 * other->second;
}

}  // namespace vireo::cli
