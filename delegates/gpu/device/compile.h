// The functions of the table that look at a model: which nodes the device takes, and what a part of them becomes.
#ifndef VIREO_DELEGATES_GPU_DEVICE_COMPILE_H_
#define VIREO_DELEGATES_GPU_DEVICE_COMPILE_H_

#include "delegates/gpu/device/gpu.h"
#include "vireo/delegate.h"

namespace vireo::gpu {

// claim, compile, memory and pack.
void add_compiler(vireo_delegate* table);
// Writes a text into a fault.
void say(vireo_fault* fault, const std::string& what);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_DEVICE_COMPILE_H_
