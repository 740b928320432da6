// The kernels of flat plans by name: k_conv, k_depthwise... (delegates/mcu/plan/kernels.def).
#ifndef VIREO_CONVERTER_FIRMWARE_KERNEL_NUMBERS_H_
#define VIREO_CONVERTER_FIRMWARE_KERNEL_NUMBERS_H_

#include <cstdint>

namespace vireo::firmware {

enum KernelNumber : uint16_t {
#define VIREO_MCU_KERNEL(number, name) k_##name = number,
#include "delegates/mcu/plan/kernels.def"
#undef VIREO_MCU_KERNEL
};

// Without the k_; "" of a number that no kernel has.
inline const char* kernel_name(uint16_t kernel) {
  switch (kernel) {
#define VIREO_MCU_KERNEL(number, name) \
  case number:                         \
    return #name;
#include "delegates/mcu/plan/kernels.def"
#undef VIREO_MCU_KERNEL
    default:
      return "";
  }
}

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_KERNEL_NUMBERS_H_
