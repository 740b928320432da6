// A program as PTX, the text that NVIDIA's driver compiles for its card: the same bytes on every machine, without a
// compiler.
//
// Weighed: CUDA C++ by nvcc (a toolkit on the converting machine, code for each family in the file, and no kernel for
// what is not in it) and by NVRTC (a library of 109 MB beside the runtime). PTX says what the statements say, registers
// are the driver's affair, and what a family adds is an instruction's name.
#ifndef VIREO_DELEGATES_GPU_PTX_PRINT_H_
#define VIREO_DELEGATES_GPU_PTX_PRINT_H_

#include <string>

#include "delegates/gpu/ir/program.h"
#include "delegates/gpu/schedule/target.h"

namespace vireo::gpu {

// The entry is `kernel`. Its parameters: an address of 64 bits for each binding, then the push constants' words.
// Buffers have less than 2^31 - 2^20 elements. A matrix unit is 16 x 16 x 16 with subgroups of 32 lanes.
std::string print_ptx(const Program& program, const Target& target);

// Bytes of shared memory that a launch gives; 0 where the text has it.
uint32_t ptx_launch_bytes(const Program& program);

// The parts of such a text: what stands once in front of all entries, and one entry.
std::string ptx_head(const Target& target);
std::string ptx_entry(const Program& program, const Target& target, const std::string& name);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_PTX_PRINT_H_
