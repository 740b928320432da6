#include "quant/observers/moments.h"

namespace vireo::quant {

void MomentsObserver::add(const BlockSummary& block) {
  const size_t channels = block.sums.size();
  if (sums_.empty()) {
    sums_.resize(channels);
    squares_.resize(channels);
    magnitudes_.resize(channels);
  }
  if (channels == 0 || channels != sums_.size()) return;
  for (size_t c = 0; c < channels; ++c) {
    sums_[c].add(block.sums[c]);
    squares_[c].add(block.squares[c]);
    magnitudes_[c].add(block.magnitudes[c]);
  }
  count_ += block.count / channels;
}

void MomentsObserver::merge(const MomentsObserver& other) {
  if (other.sums_.empty()) return;
  if (sums_.empty()) {
    *this = other;
    return;
  }
  if (other.sums_.size() != sums_.size()) return;
  count_ += other.count_;
  for (size_t c = 0; c < sums_.size(); ++c) {
    sums_[c].merge(other.sums_[c]);
    squares_[c].merge(other.squares_[c]);
    magnitudes_[c].merge(other.magnitudes_[c]);
  }
}

}  // namespace vireo::quant
