// Mean, mean of squares and mean of absolute values of each channel.
#ifndef VIREO_QUANT_OBSERVERS_MOMENTS_H_
#define VIREO_QUANT_OBSERVERS_MOMENTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "quant/observers/fixed_sum.h"
#include "quant/observers/summary.h"

namespace vireo::quant {

class MomentsObserver {
 public:
  // Blocks whose number of channels is not the first one's are left out.
  void add(const BlockSummary& block);
  void merge(const MomentsObserver& other);

  size_t channels() const { return sums_.size(); }
  bool whole() const { return squares_.size() == sums_.size() && magnitudes_.size() == sums_.size(); }  // brought back
  double mean(size_t channel) const { return of(sums_[channel]); }
  double mean_square(size_t channel) const { return of(squares_[channel]); }
  double mean_magnitude(size_t channel) const { return of(magnitudes_[channel]); }
  bool operator==(const MomentsObserver& o) const {
    return count_ == o.count_ && sums_ == o.sums_ && squares_ == o.squares_ && magnitudes_ == o.magnitudes_;
  }

  // Calls f with each part of the state, to keep it and to bring it back.
  template <class F>
  void each_part(const F& f) {
    f(&count_);
    f(&sums_);
    f(&squares_);
    f(&magnitudes_);
  }

 private:
  double of(const FixedSum& sum) const { return count_ == 0 ? 0 : sum.value() / static_cast<double>(count_); }

  uint64_t count_ = 0;  // of each channel
  std::vector<FixedSum> sums_, squares_, magnitudes_;
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_OBSERVERS_MOMENTS_H_
