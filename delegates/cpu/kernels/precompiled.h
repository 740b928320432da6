// Highway's operations for every instruction set that a kernel may ask for, to be precompiled (see foreach_target.h).
#include <math.h>
#include <stdint.h>
#include <string.h>

// Of targets.h, with the sets that only some kernels have.
#define VIREO_KERNEL_USES_VNNI
#define VIREO_KERNEL_USES_BF16
#include "delegates/cpu/kernels/targets.h"
#undef VIREO_KERNEL_USES_VNNI
#undef VIREO_KERNEL_USES_BF16

#define HWY_TARGET_INCLUDE <hwy/highway.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// A kernel says again which sets it has.
#undef HWY_TARGET_INCLUDE
#undef HWY_DISABLED_TARGETS
#undef HWY_WANT_AVX3_DL
#undef VIREO_DISABLED_VNNI
#undef VIREO_DISABLED_BF16
#undef VIREO_DELEGATES_CPU_KERNELS_TARGETS_H_
#define VIREO_HIGHWAY_PRECOMPILED
