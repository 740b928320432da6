// Programs of problems, made once for each that is equal in all of its numbers: the layers of a network repeat
// themselves, and what a run with new extents waits for is the making of programs.
#ifndef VIREO_DELEGATES_GPU_LOWER_KNOWN_PROBLEMS_H_
#define VIREO_DELEGATES_GPU_LOWER_KNOWN_PROBLEMS_H_

#include <map>
#include <memory>
#include <vector>

#include "delegates/gpu/lower/made_before.h"
#include "delegates/gpu/lower/work.h"

namespace vireo::gpu {

// All that a problem says, as numbers: equal exactly where two problems are.
std::vector<uint64_t> key_of(const Problem& problem);

class KnownProblems {
 public:
  // `before`, which may be null, is of this target, and asked if it is open; of_a_run: what it has of runs as well.
  explicit KnownProblems(const Target& target, MadeBefore* before = nullptr, bool of_a_run = false)
      : target_(target), before_(target.open ? before : nullptr), of_a_run_(of_a_run) {}
  // Lives as long as this.
  const MadeProblem& operator()(const Problem& problem);

 private:
  std::shared_ptr<const MadeProblem> make(const Problem& problem) const;

  const Target& target_;
  MadeBefore* const before_;
  const bool of_a_run_;
  std::map<std::vector<uint64_t>, std::shared_ptr<const MadeProblem>> made_;
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_LOWER_KNOWN_PROBLEMS_H_
