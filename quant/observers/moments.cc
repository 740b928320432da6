#include "quant/observers/moments.h"

#include <cmath>

namespace vireo::quant {

void MomentsObserver::add(const Block& block) {
  const auto channels = static_cast<size_t>(block.channels);
  if (sums_.empty()) {
    sums_.resize(channels);
    squares_.resize(channels);
    magnitudes_.resize(channels);
  }
  if (channels != sums_.size()) return;
  for (size_t c = 0; c < channels; ++c) {
    double sum = 0, square = 0, magnitude = 0;
    for (int64_t o = 0; o < block.outer; ++o) {
      const float* x = block.data + (o * block.channels + static_cast<int64_t>(c)) * block.inner;
      for (int64_t i = 0; i < block.inner; ++i) {
        const double v = static_cast<double>(x[i]);
        if (!std::isfinite(v)) continue;
        sum += v;
        square += v * v;
        magnitude += std::fabs(v);
      }
    }
    sums_[c].add(sum);
    squares_[c].add(square);
    magnitudes_[c].add(magnitude);
  }
  count_ += static_cast<uint64_t>(block.outer * block.inner);
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
