// The templates' own tests, as HIP's texts: host lanes run them for the family that VIREO_HIP_FAMILY names, and clang
// compiles some of them for the chips that have the same waves.
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <map>

#include "delegates/gpu/hip/print.h"
#include "delegates/gpu/templates/testing.h"

namespace vireo::gpu {
namespace {

struct Most {
  size_t kernels = 0, scratch = 0;
  uint32_t vectors = 0, scalars = 0, shared = 0;
};
std::map<std::string, Most>& table() {
  static std::map<std::string, Most> most;
  return most;
}

// Printed when all tests are done.
class Report final : public ::testing::Environment {
 public:
  void TearDown() override {
    if (table().empty()) return;
    puts("family    kernels  most VGPRs  most SGPRs  most LDS  with arrays in memory");
    for (const auto& [family, m] : table())
      printf("%-9s %7zu %11u %11u %9u %7zu\n", family.c_str(), m.kernels, m.vectors, m.scalars, m.shared, m.scratch);
  }
};
[[maybe_unused]] ::testing::Environment* const report = ::testing::AddGlobalTestEnvironment(new Report);

void compile(const std::string& family, const std::string& text, const std::vector<std::string>& names) {
  static bool here = true;
  if (!here) return;
  std::vector<HipUse> uses;
  EXPECT_EQ(compile_hip(text, family, &here, &uses), "") << names[0] << ", " << family;
  if (!here) {
    puts("clang-19 and lld-19 are not here: HIP's texts are not compiled (apt-get install clang-19 lld-19)");
    return;
  }
  ASSERT_EQ(uses.size(), names.size()) << family;
  Most& most = table()[family];
  for (size_t i = 0; i < uses.size(); ++i) {
    EXPECT_EQ(uses[i].spilled, 0u) << names[i] << ", " << family;
    ++most.kernels;
    most.scratch += uses[i].scratch_bytes != 0 ? 1 : 0;
    most.vectors = std::max(most.vectors, uses[i].vectors + uses[i].accumulators);
    most.scalars = std::max(most.scalars, uses[i].scalars);
    most.shared = std::max(most.shared, uses[i].shared_bytes);
  }
}

TrialCard make_card() {
  const char* const named = getenv("VIREO_HIP_FAMILY");
  const std::string name = named != nullptr ? named : "gfx942";
  const HipFamily& family = *hip_family(name);
  TrialCard card;
  card.target = hip_target(family);
  card.lanes = true;
  card.compile = [&family](const std::string& text, bool matrices, const std::vector<std::string>& names) {
    for (const char* const chip : kHipFamilies) {
      const HipFamily& other = *hip_family(chip);
      const bool same_unit = other.unit == family.unit || (other.unit == nullptr && !matrices);
      // Chips without a unit go with the older of those that have the same waves.
      if (other.lanes != family.lanes || !same_unit || (other.unit == nullptr && family.generation == 12)) continue;
      compile(chip, hip_text(text, hip_target(other)), names);
    }
  };
  return card;
}

}  // namespace

const TrialCard* trial_card() {
  static const TrialCard card = make_card();
  return &card;
}

}  // namespace vireo::gpu
