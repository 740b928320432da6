// HIP's texts on the host, for tests: every lane is a coroutine, and what a wave or a workgroup does together is done
// between them. Units multiply by their lane maps.
#ifndef VIREO_DELEGATES_GPU_HIP_LANES_H_
#define VIREO_DELEGATES_GPU_HIP_LANES_H_

#include <string>

#include "delegates/gpu/hip/print.h"

namespace vireo::gpu {

// Begins a text of C++20, once a file: in place of the head of hip_text().
std::string hip_lanes_head(const Target& target);
// A program and the function `symbol` that runs its workgroups, as print_host() describes it. 3 also stands for lanes
// that meet at a word of shared memory without a barrier, 4 for a wave that is not whole or does not agree.
std::string hip_lanes_entry(const Program& program, const std::string& symbol);
// The latter alone, for the function `lane` of a text. What a program says of it: lanes of a workgroup, words that are
// shared, bindings, words of push constants.
struct HipLanes {
  uint32_t lanes = 0, words = 0, bindings = 0, push = 0;
};
std::string hip_lanes_runner(const HipLanes& what, const std::string& lane, const std::string& symbol);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_HIP_LANES_H_
