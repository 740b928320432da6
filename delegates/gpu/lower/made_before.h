// What a device has kernels for already. A run with new extents waits for programs to be made and printed: most of them
// are those of earlier runs, or of the part before it in the same run.
#ifndef VIREO_DELEGATES_GPU_LOWER_MADE_BEFORE_H_
#define VIREO_DELEGATES_GPU_LOWER_MADE_BEFORE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "delegates/gpu/emit/made_kernels.h"
#include "delegates/gpu/schedule/schedule.h"

namespace vireo::gpu {

// What a launch needs of a problem. The program is not among it: its kernel is.
struct MadeProblem {
  std::string refusal;  // not empty: there is nothing else
  std::vector<uint32_t> push;
  std::array<uint32_t, 3> groups{1, 1, 1};
  std::shared_ptr<const Kernel> kernel;
};

// What was made before, of one target whose extents are open. From any thread.
class MadeBefore {
 public:
  MadeKernels kernels;
  // Of runs: a network is several parts, and those of one run have many problems in common. Null: not known.
  std::shared_ptr<const MadeProblem> find(const std::vector<uint64_t>& key);
  void keep(const std::vector<uint64_t>& key, std::shared_ptr<const MadeProblem> made);

 private:
  static constexpr size_t kMost = 512;  // a MB or two; beyond that it begins anew

  std::mutex mutex_;
  std::map<std::vector<uint64_t>, std::shared_ptr<const MadeProblem>> problems_;
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_LOWER_MADE_BEFORE_H_
