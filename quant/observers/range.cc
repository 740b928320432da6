#include "quant/observers/range.h"

#include <algorithm>

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

void RangeObserver::add(const BlockSummary& block) {
  count_ += block.count;
  not_finite_ += block.not_finite;
  low_ = std::min(low_, block.low());
  high_ = std::max(high_, block.high());
  if (!block.lows.empty()) widen_channels(block.lows, block.highs);
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
