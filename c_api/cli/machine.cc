#include "c_api/cli/machine.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "c_api/cli/file.h"
#include "vireo/vireo.h"

namespace vireo::cli {

std::string cpu_text() {
  std::string text;
  std::ifstream info("/proc/cpuinfo");
  const std::vector<std::string> wanted = {"model name",      "cpu family",  "model",    "stepping",
                                           "CPU implementer", "CPU variant", "CPU part", "uarch"};
  for (std::string line; std::getline(info, line) && !line.empty();) {
    const std::string name = line.substr(0, line.find_last_not_of(" \t", line.find(':') - 1) + 1);
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
    text += (text.empty() ? "" : ", ") + line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return text;
}

std::string version_text() {
  const uint32_t v = vireo_version();
  return "vireo " + std::to_string(v >> 16) + "." + std::to_string(v >> 8 & 255) + "." + std::to_string(v & 255);
}

double memory_here() {
  double bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  double of_group = 0;
  std::ifstream group("/sys/fs/cgroup/memory.max");  // "max" where there is no limit
  if (group >> of_group && of_group > 0 && of_group < bytes) bytes = of_group;
  return bytes;
}

double memory_allowed() {
  double bytes = memory_here();
  for (const auto kind : {RLIMIT_DATA, RLIMIT_AS}) {
    rlimit limit;
    if (getrlimit(kind, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      bytes = std::min(bytes, static_cast<double>(limit.rlim_cur));
  }
  return bytes;
}

std::string cache_file(const std::string& what, const std::string& fingerprint) {
  uint64_t h = 0xCBF29CE484222325u;
  for (const char c : fingerprint) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  char text[20];
  snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(h));
  return user_cache(what) + "/" + text + ".json";
}

}  // namespace vireo::cli
