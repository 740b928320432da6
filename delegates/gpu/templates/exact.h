// Quotients, remainders and powers of float32 where a device's own are not exact enough.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_EXACT_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_EXACT_H_

#include "delegates/gpu/ir/builder.h"

namespace vireo::gpu {

// a / b as IEEE 754 rounds it to nearest even, for normal a, b and quotients. Others are as the device divides.
Value exact_quotient(Value a, Value b);

// C's fmod, exact.
Value remainder_of(Value a, Value b);

// C's pow, 3 units in the last place.
Value power_of(Value x, Value y);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_EXACT_H_
