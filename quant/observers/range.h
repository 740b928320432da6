// The exact least and greatest element, of the whole value and of each channel.
#ifndef VIREO_QUANT_OBSERVERS_RANGE_H_
#define VIREO_QUANT_OBSERVERS_RANGE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "quant/observers/summary.h"

namespace vireo::quant {

class RangeObserver {
 public:
  void add(const BlockSummary& block);
  void merge(const RangeObserver& other);

  bool empty() const { return count_ == 0; }
  uint64_t count() const { return count_; }
  uint64_t not_finite() const { return not_finite_; }  // elements that are NaN or infinite, and count nowhere else
  float low() const { return low_; }                   // of no element: above high()
  float high() const { return high_; }
  // Of each channel; empty where blocks had different numbers of them.
  const std::vector<float>& lows() const { return lows_; }
  const std::vector<float>& highs() const { return highs_; }

  // Calls f with each part of the state, to keep it and to bring it back.
  template <class F>
  void each_part(const F& f) {
    f(&count_);
    f(&not_finite_);
    f(&low_);
    f(&high_);
    f(&lows_);
    f(&highs_);
    f(&same_channels_);
  }

 private:
  void widen_channels(const std::vector<float>& lows, const std::vector<float>& highs);

  uint64_t count_ = 0, not_finite_ = 0;
  float low_ = std::numeric_limits<float>::infinity(), high_ = -std::numeric_limits<float>::infinity();
  std::vector<float> lows_, highs_;
  bool same_channels_ = true;
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_OBSERVERS_RANGE_H_
