// Comparisons of two tensors with broadcasting.
#ifndef VIREO_DELEGATES_CPU_KERNELS_ELTWISE_COMPARE_H_
#define VIREO_DELEGATES_CPU_KERNELS_ELTWISE_COMPARE_H_

#include <stdint.h>

#include "delegates/cpu/kernels/eltwise/broadcast.h"
#include "sdk/base/parallel.h"

namespace vireo::cpu {

enum class Comparison : uint8_t { kEqual, kLess, kLessOrEqual };
enum class Compared : uint8_t { kF32, kI32, kI64 };

// y[i] = a[i] op b[i] ? 1 : 0. A NaN makes it 0. y overlaps neither a nor b.
void compare(const Broadcast& shape, Comparison op, Compared type, const void* a, const void* b, uint8_t* y,
             const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_ELTWISE_COMPARE_H_
