#include "delegates/gpu/hip/family.h"

#include <string.h>

#include <algorithm>
#include <iterator>

namespace vireo::gpu {
namespace {

// HIP counts the lanes of a launch along an axis in 32 bits.
constexpr uint32_t kMostGroups = (1u << 22) - 1;
// Printed code counts bytes from the begin of a binding in 32 bits.
constexpr uint64_t kMostBytes = (1ull << 32) - 256;

constexpr HipUnit kMfma = {"__builtin_amdgcn_mfma_f32_16x16x16f16", ", 0, 0, 0", 64, 4, 4, 4, 4, 1};
constexpr HipUnit kWmma11 = {"__builtin_amdgcn_wmma_f32_16x16x16_f16_w32", "", 32, 16, 0, 8, 1, 2};
constexpr HipUnit kWmma12 = {"__builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12", "", 32, 8, 8, 8, 8, 1};

// By the beginning of a chip's name: the first that fits.
constexpr HipFamily kFamilies[] = {
    {"gfx90a", 9, 64, &kMfma, true}, {"gfx908", 9, 64, &kMfma},   {"gfx90", 9, 64, nullptr},
    {"gfx94", 9, 64, &kMfma},        {"gfx95", 9, 64, &kMfma},    {"gfx101", 10, 32, nullptr},
    {"gfx103", 10, 32, nullptr},     {"gfx11", 11, 32, &kWmma11}, {"gfx12", 12, 32, &kWmma12},
};

}  // namespace

const HipFamily* hip_family(const std::string& name) {
  const auto* const found = std::find_if(std::begin(kFamilies), std::end(kFamilies), [&name](const HipFamily& f) {
    return name.compare(0, strlen(f.begin), f.begin) == 0;
  });
  return found == std::end(kFamilies) ? nullptr : found;
}

Target hip_target(const HipFamily& family) {
  Target t;
  t.hip = family.generation;
  t.subgroup = family.lanes;
  t.workgroup = t.workgroup_x = t.workgroup_y = t.workgroup_z = 1024;
  t.groups_x = kMostGroups;
  t.shared_bytes = 65536;
  t.bindings = 32;
  t.push_words = 64;
  t.buffer_bytes = kMostBytes;
  t.storage16 = t.storage8 = t.float16 = t.int8 = t.int16 = t.int64 = t.float64 = true;
  t.keeps_nan32 = t.keeps_denormals32 = t.rounds_even32 = true;
  t.shuffles = true;
  if (family.unit != nullptr) t.units = {{16, 16, 16, false}};
  return t;
}

const HipUnit* hip_unit(const Target& target) {
  if (target.units.empty()) return nullptr;
  return target.hip == 9 ? &kMfma : target.hip == 11 ? &kWmma11 : target.hip == 12 ? &kWmma12 : nullptr;
}

}  // namespace vireo::gpu
