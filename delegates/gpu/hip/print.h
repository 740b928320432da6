// A program as HIP C++, which hiprtc or clang compiles for one of AMD's chips. A lane is the function; memory of the
// workgroup, barriers and matrix units are macros of the text's head.
//
// Host lanes compile the same functions under another head (lanes.h): what tests prove is the very text that a card
// gets. Weighed: LLVM's intermediate text (its form changes with each release, and hiprtc does not take it everywhere),
// and machine code (one printer a family).
#ifndef VIREO_DELEGATES_GPU_HIP_PRINT_H_
#define VIREO_DELEGATES_GPU_HIP_PRINT_H_

#include <string>

#include "delegates/gpu/hip/family.h"
#include "delegates/gpu/ir/program.h"
#include "delegates/gpu/schedule/target.h"

namespace vireo::gpu {

// What a schedule keeps of a kernel: the function `kernel`. Its parameters: an address for each binding, then the push
// constants' words. Bindings span less than 2^32 bytes. A matrix unit is 16 x 16 x 16 with subgroups of hip_unit()'s
// lanes.
std::string print_hip(const Program& program);

// What is compiled: functions with what stands once around them. To be compiled without libraries and headers, with
// products and sums as they stand (no fast mathematics).
std::string hip_text(const std::string& entries, const Target& target);
// One function.
std::string hip_entry(const Program& program, const std::string& name);

// What both heads have: numbers of the wave and its unit, and how a lane finds its elements of matrices.
std::string hip_constants(const Target& target);
std::string hip_matrices(const Target& target);
// What clang is called with, for a family ("gfx1100"): one code object, of a text without libraries.
std::string hip_options(const std::string& family);

// Words of shared memory that a program takes.
uint32_t hip_shared_words(const Program& program);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_HIP_PRINT_H_
