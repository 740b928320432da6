#include "delegates/hip/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "delegates/gpu/hip/family.h"

namespace vireo::hip {
namespace {

constexpr int kOldest = 50200000;  // HIP 5.2: graphs with flags
// A guess of what a graph takes to start and to be waited for.
constexpr double kLaunchNs = 20000;
// Somewhat less than sixteen lanes of PCIe 4 carry.
constexpr double kTransfer = 20e9;

std::string version_text(int version) {
  return std::to_string(version / 10000000) + "." + std::to_string(version / 100000 % 100);
}

// The library and the end of its name, which its compiler's has too.
void* open_library(const char* named, std::string* suffix, std::string* why) {
  if (named != nullptr) {
    void* const opened = dlopen(named, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) *why = dlerror();
    return opened;
  }
  for (const char* end : {".7", ".6", ".5", ""}) {
    void* const opened = dlopen((std::string("libamdhip64.so") + end).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened != nullptr) {
      *suffix = end;
      return opened;
    }
    if (why->empty()) *why = dlerror();
  }
  return dlopen("/opt/rocm/lib/libamdhip64.so", RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

std::unique_ptr<Driver> Driver::open(const char* library, std::string* why) {
  if (library == nullptr) library = std::getenv("VIREO_HIP_LIBRARY");
  std::string suffix, missing;
  void* const opened = open_library(library, &suffix, &missing);
  if (opened == nullptr) {
    *why = "no HIP: " + missing;
    return nullptr;
  }
  std::unique_ptr<Driver> driver(new Driver);
  if (!driver->find_functions(opened, why)) return nullptr;
  driver->compiler_ = Compiler::open(opened, suffix, why);
  if (driver->compiler_ == nullptr || !driver->find_cards(why)) return nullptr;
  return driver;
}

bool Driver::find_functions(void* library, std::string* why) {
  std::string missing;
#define VIREO_HIP_LOOK_UP(name, symbol, arguments)                              \
  call_.name = reinterpret_cast<decltype(call_.name)>(dlsym(library, #symbol)); \
  if (call_.name == nullptr && missing.empty()) missing = #symbol;
  VIREO_HIP_FUNCTIONS(VIREO_HIP_LOOK_UP)
#undef VIREO_HIP_LOOK_UP
#define VIREO_HIP_LOOK_UP(name, symbol, arguments) \
  call_.name = reinterpret_cast<decltype(call_.name)>(dlsym(library, #symbol));
  VIREO_HIP_PROPERTIES(VIREO_HIP_LOOK_UP)
#undef VIREO_HIP_LOOK_UP
  call_.error_name = reinterpret_cast<decltype(call_.error_name)>(dlsym(library, "hipGetErrorName"));
  if (missing.empty()) return true;
  *why = "HIP is too old: it lacks " + missing + " (HIP 5.2 or newer is needed)";
  return false;
}

std::string Driver::name_of(Result result) const {
  const char* const name = call_.error_name == nullptr ? nullptr : call_.error_name(result);
  return name != nullptr ? name : "hipError_t " + std::to_string(result);
}

bool Driver::find_cards(std::string* why) {
  int version = 0, count = 0;
  if (call_.driver_version(&version) != kSuccess || version < kOldest) {
    *why = "HIP is of version " + version_text(version) + ", 5.2 or newer is needed";
    return false;
  }
  // Without a card a library may refuse to start at all.
  Result result = call_.init(0);
  if (result == kSuccess) result = call_.device_count(&count);
  if (result != kSuccess || count == 0) {
    *why = "HIP lists no card" + (result == kSuccess ? "" : ": " + name_of(result));
    return false;
  }
  for (int i = 0; i < count; ++i) {
    Card card;
    const std::string refused = read(i, version, &card);
    if (refused.empty()) {
      cards_.push_back(std::move(card));
    } else {
      *why += (why->empty() ? "" : "; ") + refused;
    }
  }
  return !cards_.empty();
}

// "" where HIP does not tell it.
std::string Driver::chip_of(int ordinal) const {
  alignas(16) std::array<char, kPropertiesBytes> all{};
  const auto read = call_.properties6 != nullptr ? call_.properties6 : call_.properties;
  if (read == nullptr || read(all.data(), ordinal) != kSuccess) return "";
  const std::string_view behind(all.data() + kNameBytes, all.size() - kNameBytes - 1);
  const size_t at = behind.find("gfx");
  return at == std::string_view::npos ? "" : std::string(behind.data() + at);
}

// "" or why the card is not used.
std::string Driver::read(int ordinal, int version, Card* out) const {
  char name[256] = "";
  size_t bytes = 0;
  if (call_.device_get(&out->number, ordinal) != kSuccess ||
      call_.device_name(name, sizeof(name), out->number) != kSuccess ||
      call_.device_memory(&bytes, out->number) != kSuccess)
    return "HIP does not describe card " + std::to_string(ordinal);
  out->chip = chip_of(ordinal);
  if (out->chip.empty()) return std::string(name) + ": HIP does not tell its chip";
  const gpu::HipFamily* const family = gpu::hip_family(out->chip);
  if (family == nullptr) return std::string(name) + ": there are no kernels for " + out->chip;
  bool whole = true;
  const auto attribute = [&](Attribute what) {
    int value = 0;
    whole = call_.device_attribute(&value, what, out->number) == kSuccess && value > 0 && whole;
    return static_cast<uint32_t>(value);
  };
  gpu::Target& t = out->target = gpu::hip_target(*family);
  const uint32_t lanes = attribute(kMaxThreadsPerBlock), shared = attribute(kMaxSharedPerBlock),
                 wave = attribute(kWarpSize), processors = attribute(kMultiprocessors);
  if (!whole) return std::string(name) + ": HIP does not describe it";
  if (wave != t.subgroup)
    return std::string(name) + ": waves of " + std::to_string(wave) + " lanes, " + out->chip + " has " +
           std::to_string(t.subgroup);
  t.workgroup = t.workgroup_x = std::min(t.workgroup, lanes);
  t.shared_bytes = std::min(t.shared_bytes, shared);
  out->vendor = "AMD";
  out->checks_access = false;
  out->units_flush = family->flushes;
  out->driver = "HIP " + version_text(version) + ", " + compiler_->name();
  out->detail = std::string(name) + ", " + out->chip.substr(0, out->chip.find(':')) + ", " +
                std::to_string(processors) + " processors, float16" + (t.units.empty() ? "" : ", matrix units");
  out->memory_bytes = bytes;
  out->launch_ns = kLaunchNs;
  out->transfer = kTransfer;
  return "";
}

}  // namespace vireo::hip
