/* All kernels: what workstations link, and images that take models by update. */
#include <stddef.h>

#include "delegates/mcu/plan/call.h"

const vireo_mcu_kernel* vireo_mcu_kernel_of(uint32_t number) {
  switch (number) {
#define VIREO_MCU_KERNEL(number, name) \
  case number:                         \
    return &vireo_mcu_##name##_kernel;
#include "delegates/mcu/plan/kernels.def"
#undef VIREO_MCU_KERNEL
    default:
      return NULL;
  }
}
