// A small kernel that tests run, and the schedule around it.
#ifndef VIREO_DELEGATES_GPU_DEVICE_TESTING_H_
#define VIREO_DELEGATES_GPU_DEVICE_TESTING_H_

#include <vector>

#include "delegates/gpu/schedule/schedule.h"

namespace vireo::gpu::testing {

// y[i] = x[i] + word 1 for i below word 0, of 32-bit integers: binding 0 is x, 1 is y, eight to a workgroup.
Kernel add_kernel(const Target& target);
// y[i] = x[i] + depth for `count` integers: `depth` steps that add 1, through inner values.
Schedule add_schedule(const Target& target, uint32_t count, uint32_t depth);

}  // namespace vireo::gpu::testing

#endif  // VIREO_DELEGATES_GPU_DEVICE_TESTING_H_
