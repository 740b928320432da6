// A sum of real numbers that does not depend on their order: each is rounded once, to a multiple of 2^-60, and the rest
// is integer arithmetic. Sums beyond 2^66 stay there.
#ifndef VIREO_QUANT_OBSERVERS_FIXED_SUM_H_
#define VIREO_QUANT_OBSERVERS_FIXED_SUM_H_

#include <cmath>

namespace vireo::quant {

class FixedSum {
 public:
  void add(double x) {
    const double scaled = std::nearbyint(std::ldexp(x, 60));
    const double most = std::ldexp(1.0, 120);
    sum_ += static_cast<Wide>(scaled > most ? most : scaled < -most ? -most : scaled);
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
