#include "delegates/gpu/lower/made_before.h"

#include <utility>

namespace vireo::gpu {

std::shared_ptr<const MadeProblem> MadeBefore::find(const std::vector<uint64_t>& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = problems_.find(key);
  return at == problems_.end() ? nullptr : at->second;
}

void MadeBefore::keep(const std::vector<uint64_t>& key, std::shared_ptr<const MadeProblem> made) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (problems_.size() == kMost) problems_.clear();
  problems_.emplace(key, std::move(made));
}

}  // namespace vireo::gpu
