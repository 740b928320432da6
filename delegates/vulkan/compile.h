// The functions of the table that look at a model: which nodes the device takes, and what a part of them becomes.
#ifndef VIREO_DELEGATES_VULKAN_COMPILE_H_
#define VIREO_DELEGATES_VULKAN_COMPILE_H_

#include "delegates/vulkan/gpu.h"
#include "vireo/delegate.h"

namespace vireo::vulkan {

// claim, compile, memory and pack.
void add_compiler(vireo_delegate* table);
// Writes a text into a fault.
void say(vireo_fault* fault, const std::string& what);

}  // namespace vireo::vulkan

#endif  // VIREO_DELEGATES_VULKAN_COMPILE_H_
