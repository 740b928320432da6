// What kernels of the sizes that models have take of seven of AMD's chips, in the tilings that are chosen for them.
#include <gtest/gtest.h>
#include <stdio.h>

#include <vector>

#include "delegates/gpu/hip/print.h"
#include "delegates/gpu/host/lanes.h"
#include "delegates/gpu/templates/usual_testing.h"

namespace vireo::gpu::registers_test {
namespace {

TEST(HipRegisters, NoChosenTilingSpills) {
  printf("%-38s %-8s vector  accum. scalar  shared waves\n", "kernel", "chip");
  for (const UsualKernel& row : usual_kernels()) {
    for (const char* const chip : kHipFamilies) {
      Target target = hip_target(*hip_family(chip));
      target.half_products = row.halves && !target.units.empty();
      if (row.needs_units && target.units.empty()) continue;
      const Dispatch d = row.make(target);
      ASSERT_EQ(d.refusal, "") << row.name << ", " << chip;
      bool found = true;
      std::vector<HipUse> uses;
      ASSERT_EQ(compile_hip(hip_text(print_hip(d.program), target), chip, &found, &uses), "") << row.name;
      if (!found) GTEST_SKIP() << "clang-19 and lld-19 are not here (apt-get install clang-19 lld-19)";
      ASSERT_EQ(uses.size(), 1u) << row.name << ", " << chip;
      const HipUse& u = uses[0];
      printf("%-38s %-8s %6u %7u %6u %7u %5u\n", row.name, chip, u.vectors, u.accumulators, u.scalars, u.shared_bytes,
             u.waves);
      EXPECT_EQ(u.spilled, 0u) << row.name << ", " << chip;
      EXPECT_EQ(u.scratch_bytes, 0u) << row.name << ", " << chip;
    }
  }
}

}  // namespace
}  // namespace vireo::gpu::registers_test
