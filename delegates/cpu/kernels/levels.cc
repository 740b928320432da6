#include "delegates/cpu/kernels/levels.h"

#include <hwy/targets.h>

namespace vireo::cpu {

// Highway calls AVX-512 with bfloat16 products AVX3_ZEN4 and keeps that name from Intel's cores, because it compresses
// vectors in another way there, which no kernel here does: theirs have it too.
int64_t supported_levels() {
  const int64_t found = hwy::SupportedTargets();
#if HWY_ARCH_X86
  if ((found & HWY_AVX3_SPR) != 0) return found | HWY_AVX3_ZEN4;
#endif
  return found;
}

void use_supported_levels() {
  if (!hwy::GetChosenTarget().IsInitialized()) hwy::GetChosenTarget().Update(supported_levels());
}

}  // namespace vireo::cpu
