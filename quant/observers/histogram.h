// Counts of elements in bins of one width, a power of two. The width doubles, and neighbours merge, when an element
// lies outside: counts stay exact, and neither the order of blocks nor how they are divided changes the result.
#ifndef VIREO_QUANT_OBSERVERS_HISTOGRAM_H_
#define VIREO_QUANT_OBSERVERS_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "quant/observers/summary.h"

namespace vireo::quant {

class HistogramObserver {
 public:
  static constexpr int kBins = 4096;  // half of them below 0

  // `summary`: of this block. Elements that are not finite are left out.
  void add(const Block& block, const BlockSummary& summary);
  void merge(const HistogramObserver& other);

  bool empty() const { return total_ == 0; }
  bool whole() const { return counts_.empty() || counts_.size() == kBins; }  // what was brought back
  uint64_t total() const { return total_; }
  double width() const;
  uint64_t count(int bin) const { return counts_.empty() ? 0 : counts_[static_cast<size_t>(bin)]; }
  double middle(int bin) const {
    const int from_zero = bin - kBins / 2;
    return (from_zero + 0.5) * width();
  }
  // The bins that hold an element; both 0 where none does.
  int first() const;
  int last() const;

  bool operator==(const HistogramObserver& o) const { return exponent_ == o.exponent_ && counts_ == o.counts_; }

  // Calls f with each part of the state, to keep it and to bring it back.
  template <class F>
  void each_part(const F& f) {
    f(&exponent_);
    f(&total_);
    f(&counts_);
  }

 private:
  void widen(int exponent);
  void count_all(const float* x, int64_t n);
  void count_finite(const float* x, int64_t n);

  static constexpr int kLeastExponent = -126;
  int exponent_ = kLeastExponent;  // all lies within 2^exponent
  uint64_t total_ = 0;
  std::vector<uint64_t> counts_;
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_OBSERVERS_HISTOGRAM_H_
