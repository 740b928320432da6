// A program as SPIR-V 1.3 for Vulkan 1.1: entry point "main", binding i of set 0 a storage buffer, push constants an
// array of words. The same words for the same program and target on every machine.
#ifndef VIREO_DELEGATES_GPU_SPIRV_EMIT_H_
#define VIREO_DELEGATES_GPU_SPIRV_EMIT_H_

#include <stdint.h>

#include <vector>

#include "delegates/gpu/ir/program.h"
#include "delegates/gpu/schedule/target.h"

namespace vireo::gpu {

std::vector<uint32_t> emit_spirv(const Program& program, const Target& target);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_SPIRV_EMIT_H_
