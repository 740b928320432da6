// A sum of real numbers that does not depend on their order: each is rounded once, to a multiple of 2^-60, and the rest
// is integer arithmetic. Sums beyond 2^66 stay there.
#ifndef VIREO_QUANT_OBSERVERS_FIXED_SUM_H_
#define VIREO_QUANT_OBSERVERS_FIXED_SUM_H_

#include <cmath>

namespace vireo::quant {

class FixedSum {
 public:
  void add(double x) {
    constexpr double kScale = 0x1p60, kMost = 0x1p120, kWhole = 0x1p52, kWord = 0x1p62;
    double scaled = x * kScale;
    if (std::fabs(scaled) < kWhole) scaled = std::nearbyint(scaled);  // what is larger has no fraction
    if (std::fabs(scaled) < kWord) {
      sum_ += static_cast<long long>(scaled);
    } else {
      sum_ += static_cast<Wide>(scaled > kMost ? kMost : scaled < -kMost ? -kMost : scaled);
    }
  }
  void merge(const FixedSum& other) { sum_ += other.sum_; }
  double value() const { return std::ldexp(static_cast<double>(sum_), -60); }
  bool operator==(const FixedSum& o) const { return sum_ == o.sum_; }

 private:
  __extension__ using Wide = __int128;
  Wide sum_ = 0;
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_OBSERVERS_FIXED_SUM_H_
