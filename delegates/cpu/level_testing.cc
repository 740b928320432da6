#include "delegates/cpu/level_testing.h"

#include <hwy/targets.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "delegates/cpu/kernels/amx/amx.h"
#include "delegates/cpu/kernels/levels.h"
#include "delegates/cpu/kernels/sme/sme.h"

namespace vireo {

bool mask_level() {
  const char* const wanted = getenv("VIREO_LEVEL");
  if (wanted == nullptr) return true;
  if (strcmp(wanted, "amx") == 0) return cpu::has_amx_int8();
#if HWY_ARCH_ARM_A64
  if (strcmp(wanted, "sme") == 0) return cpu::has_sme_f32();
  if (strcmp(wanted, "neon") == 0) {
    cpu::withhold_sme();
    return true;
  }
#endif
#if HWY_ARCH_X86
  struct Level {
    const char* name;
    int64_t targets;  // that it adds to those before it
  };
  constexpr Level kLevels[] = {
      {"sse2", HWY_SSE2}, {"avx2", HWY_AVX2}, {"avx3", HWY_AVX3}, {"vnni", HWY_AVX3_DL}, {"bf16", HWY_AVX3_ZEN4}};
  static const int64_t all = cpu::supported_levels();
  int64_t kept = 0;
  for (const Level& level : kLevels) {
    kept |= all & level.targets;
    if (strcmp(wanted, level.name) != 0) continue;
    if ((all & level.targets) == 0) return false;
    hwy::SetSupportedTargetsForTest(kept);
    cpu::withhold_amx();
    return true;
  }
#endif
  return false;
}

}  // namespace vireo
