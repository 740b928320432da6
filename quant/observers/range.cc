#include "quant/observers/range.h"

#include <algorithm>
#include <cmath>

namespace vireo::quant {

void RangeObserver::widen_channels(const std::vector<float>& lows, const std::vector<float>& highs) {
  if (lows_.empty() && same_channels_) {
    lows_ = lows;
    highs_ = highs;
    return;
  }
  same_channels_ = same_channels_ && lows.size() == lows_.size();
  if (!same_channels_) {
    lows_.clear();
    highs_.clear();
    return;
  }
  for (size_t c = 0; c < lows_.size(); ++c) {
    lows_[c] = std::min(lows_[c], lows[c]);
    highs_[c] = std::max(highs_[c], highs[c]);
  }
}

void RangeObserver::add(const Block& block) {
  const auto channels = static_cast<size_t>(block.channels);
  std::vector<float> lows(channels, std::numeric_limits<float>::infinity());
  std::vector<float> highs(channels, -std::numeric_limits<float>::infinity());
  const float* x = block.data;
  for (int64_t o = 0; o < block.outer; ++o) {
    for (size_t c = 0; c < channels; ++c) {
      float low = lows[c], high = highs[c];
      for (int64_t i = 0; i < block.inner; ++i, ++x) {
        if (!std::isfinite(*x)) {
          ++not_finite_;
          continue;
        }
        low = std::min(low, *x);
        high = std::max(high, *x);
      }
      lows[c] = low;
      highs[c] = high;
    }
  }
  count_ += static_cast<uint64_t>(block.count());
  for (size_t c = 0; c < channels; ++c) {
    low_ = std::min(low_, lows[c]);
    high_ = std::max(high_, highs[c]);
  }
  if (channels != 0) widen_channels(lows, highs);
}

void RangeObserver::merge(const RangeObserver& other) {
  if (other.empty()) return;
  count_ += other.count_;
  not_finite_ += other.not_finite_;
  low_ = std::min(low_, other.low_);
  high_ = std::max(high_, other.high_);
  if (!other.same_channels_) {
    same_channels_ = false;
    lows_.clear();
    highs_.clear();
  } else {
    widen_channels(other.lows_, other.highs_);
  }
}

}  // namespace vireo::quant
