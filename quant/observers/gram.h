// Second moments of rows: sums of products of their channels over all rows, of a value with itself or with another.
#ifndef VIREO_QUANT_OBSERVERS_GRAM_H_
#define VIREO_QUANT_OBSERVERS_GRAM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vireo::quant {

class GramObserver {
 public:
  // Adds `rows` rows of `size` channels each: a_i b_j for all i, j. The size is that of the first call.
  void add(const float* a, const float* b, int64_t rows, int64_t size);

  int64_t size() const { return size_; }
  int64_t rows() const { return rows_; }
  // The mean over rows, [size, size]; leaves the observer empty.
  std::vector<double> take_mean();
  // What a state of this size takes.
  static uint64_t bytes(int64_t size) { return static_cast<uint64_t>(size) * static_cast<uint64_t>(size) * 8; }

 private:
  int64_t size_ = 0, rows_ = 0;
  std::vector<double> sums_;  // [size, size]
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_OBSERVERS_GRAM_H_
