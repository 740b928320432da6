#include "delegates/cuda/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

namespace vireo::cuda {
namespace {

constexpr int kOldestDriver = 11040;  // CUDA 11.4: graphs with flags
constexpr int kOldestCard = 75;
// A guess of what a graph takes to start and to be waited for.
constexpr double kLaunchNs = 12000;
// Somewhat less than sixteen lanes of PCIe 4 carry.
constexpr double kTransfer = 20e9;
// Printed code counts elements with a sign.
constexpr uint64_t kMostBytes = (1ull << 31) - (1u << 20);

}  // namespace

std::unique_ptr<Driver> Driver::open(const char* library, std::string* why) {
  if (library == nullptr) library = std::getenv("VIREO_CUDA_LIBRARY");
  if (library == nullptr) library = "libcuda.so.1";
  void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    *why = std::string("no CUDA driver: ") + dlerror();
    return nullptr;
  }
  std::unique_ptr<Driver> driver(new Driver);
  if (!driver->find_functions(opened, why)) return nullptr;
  if (!driver->find_cards(why)) return nullptr;
  return driver;
}

bool Driver::find_functions(void* library, std::string* why) {
  std::string missing;
#define VIREO_CUDA_LOOK_UP(name, symbol, arguments)                             \
  call_.name = reinterpret_cast<decltype(call_.name)>(dlsym(library, #symbol)); \
  if (call_.name == nullptr && missing.empty()) missing = #symbol;
  VIREO_CUDA_FUNCTIONS(VIREO_CUDA_LOOK_UP)
#undef VIREO_CUDA_LOOK_UP
#define VIREO_CUDA_LOOK_UP(name, symbol, arguments) \
  call_.name = reinterpret_cast<decltype(call_.name)>(dlsym(library, #symbol));
  VIREO_CUDA_OPTIONAL(VIREO_CUDA_LOOK_UP)
#undef VIREO_CUDA_LOOK_UP
  if (missing.empty()) return true;
  *why = "the CUDA driver is too old: it lacks " + missing + " (CUDA 11.4 or newer is needed)";
  return false;
}

Result Driver::link(const char* text, std::vector<uint8_t>* out) const {
  if (call_.link_create == nullptr || call_.link_add == nullptr || call_.link_complete == nullptr ||
      call_.link_destroy == nullptr)
    return kNotSupported;
  LinkState state = nullptr;
  Result result = call_.link_create(0, nullptr, nullptr, &state);
  if (result != kSuccess) return result;
  void* code = nullptr;  // the state's
  size_t bytes = 0;
  std::string copy(text);  // it asks for memory that it may change
  result = call_.link_add(state, kInputPtx, copy.data(), copy.size() + 1, "kernel", 0, nullptr, nullptr);
  if (result == kSuccess) result = call_.link_complete(state, &code, &bytes);
  if (result == kSuccess) out->assign(static_cast<uint8_t*>(code), static_cast<uint8_t*>(code) + bytes);
  (void)call_.link_destroy(state);
  return result;
}

std::string Driver::name_of(Result result) const {
  const char* name = nullptr;
  if (call_.error_name(result, &name) == kSuccess && name != nullptr) return name;
  return "CUresult " + std::to_string(result);
}

bool Driver::find_cards(std::string* why) {
  int version = 0, count = 0;
  if (const Result result = call_.init(0); result != kSuccess) {
    *why = "the CUDA driver does not start: " + name_of(result);
    return false;
  }
  if (call_.driver_version(&version) != kSuccess || version < kOldestDriver) {
    *why = "the driver has CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10) +
           ", 11.4 or newer is needed";
    return false;
  }
  if (const Result result = call_.device_count(&count); result != kSuccess || count == 0) {
    *why = result == kSuccess ? "CUDA lists no card" : "CUDA lists no card: " + name_of(result);
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

// "" or why the card is not used.
std::string Driver::read(int ordinal, int version, Card* out) const {
  char name[256] = "";
  size_t bytes = 0;
  if (call_.device_get(&out->number, ordinal) != kSuccess ||
      call_.device_name(name, sizeof(name), out->number) != kSuccess ||
      call_.device_memory(&bytes, out->number) != kSuccess)
    return "CUDA does not describe card " + std::to_string(ordinal);
  bool whole = true;
  const auto attribute = [&](Attribute what) {
    int value = 0;
    whole = call_.device_attribute(&value, what, out->number) == kSuccess && value >= 0 && whole;
    return static_cast<uint32_t>(value);
  };
  const uint32_t major = attribute(kMajor), minor = attribute(kMinor), capability = major * 10 + minor;
  gpu::Target& t = out->target;
  t.ptx = capability >= 90 ? 90 : capability >= 80 ? 80 : 75;
  t.subgroup = attribute(kWarpSize);
  t.workgroup = attribute(kMaxThreadsPerBlock);
  t.workgroup_x = attribute(kMaxBlockX);
  t.workgroup_y = attribute(kMaxBlockY);
  t.workgroup_z = attribute(kMaxBlockZ);
  t.groups_x = attribute(kMaxGridX);
  t.groups_y = attribute(kMaxGridY);
  t.groups_z = attribute(kMaxGridZ);
  t.shared_bytes = attribute(kMaxSharedPerBlock);
  // Copies that end later came with the eighth family. Units that read tiles are in cards of 9.0 only, and CUDA 12.4
  // is the first whose driver knows all of them.
  t.stage_bytes = t.ptx >= 80 ? attribute(kMaxSharedPerBlockOnDemand) / 2048 * 2048 : 0;
  t.tile_unit = capability == 90 && version >= 12040;
  t.bindings = 32;
  t.push_words = 64;
  t.buffer_bytes = kMostBytes;
  t.storage16 = t.storage8 = t.float16 = t.int8 = t.int16 = t.int64 = t.float64 = true;
  t.keeps_nan32 = t.keeps_denormals32 = t.rounds_even32 = true;
  t.units = {{16, 16, 16, true}};
  if (t.ptx >= 80) t.code_unit = {16, 16, 32, true};
  t.shuffles = true;
  out->multiprocessors = attribute(kMultiprocessors);
  const bool prohibited = attribute(kComputeMode) == kComputeModeProhibited;
  if (!whole || t.subgroup != 32) return std::string(name) + ": CUDA does not describe it";
  const std::string level = std::to_string(major) + "." + std::to_string(minor);
  if (capability < kOldestCard) return std::string(name) + ": compute capability " + level + ", 7.5 or newer is needed";
  if (prohibited) return std::string(name) + ": its compute mode lets no process use it (nvidia-smi -c 0)";
  out->vendor = "NVIDIA";
  out->checks_access = false;
  out->driver = "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  out->detail = std::string(name) + ", compute capability " + level + ", " + std::to_string(out->multiprocessors) +
                " multiprocessors, float16, matrix units";
  out->memory_bytes = bytes;
  out->launch_ns = kLaunchNs;
  out->transfer = kTransfer;
  return "";
}

}  // namespace vireo::cuda
