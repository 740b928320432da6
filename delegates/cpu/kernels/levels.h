// Which instruction sets of the kernels this core has.
#ifndef VIREO_DELEGATES_CPU_KERNELS_LEVELS_H_
#define VIREO_DELEGATES_CPU_KERNELS_LEVELS_H_

#include <stdint.h>

namespace vireo::cpu {
// Highway's bits.
int64_t supported_levels();
// Kernels choose among them from now on, unless one has looked at the core before and taken what Highway found.
void use_supported_levels();
}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_LEVELS_H_
