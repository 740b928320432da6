// Programs of problems, made once for each that is equal in all of its numbers: the layers of a network repeat
// themselves, and what a run with new extents waits for is the making of programs.
#ifndef VIREO_DELEGATES_GPU_LOWER_KNOWN_PROBLEMS_H_
#define VIREO_DELEGATES_GPU_LOWER_KNOWN_PROBLEMS_H_

#include <map>
#include <vector>

#include "delegates/gpu/emit/kernel.h"
#include "delegates/gpu/emit/made_kernels.h"
#include "delegates/gpu/lower/work.h"

namespace vireo::gpu {

// All that a problem says, as numbers: equal exactly where two problems are.
std::vector<uint64_t> key_of(const Problem& problem);

class KnownProblems {
 public:
  struct Made {
    Dispatch dispatch;
    Kernel kernel;  // of a dispatch that is not refused
  };
  // `kernels`, which may be null, has those of an open target that were made before.
  explicit KnownProblems(const Target& target, MadeKernels* kernels = nullptr)
      : target_(target), kernels_(target.open ? kernels : nullptr) {}
  // Lives as long as this.
  const Made& operator()(const Problem& problem);

 private:
  const Target& target_;
  MadeKernels* const kernels_;
  std::map<std::vector<uint64_t>, Made> made_;
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_LOWER_KNOWN_PROBLEMS_H_
