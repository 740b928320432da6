#include "quant/observers/gram.h"

#include <algorithm>
#include <utility>

namespace vireo::quant {
namespace {
constexpr int64_t kRowsOfBlock = 64;  // summed in float32, as they are; blocks in float64
}

void GramObserver::add(const float* a, const float* b, int64_t rows, int64_t size) {
  if (rows == 0 || size == 0 || (size_ != 0 && size != size_)) return;
  size_ = size;
  sums_.resize(static_cast<size_t>(size * size), 0);
  std::vector<float> line(static_cast<size_t>(size));
  for (int64_t first = 0; first < rows; first += kRowsOfBlock) {
    const int64_t last = std::min(first + kRowsOfBlock, rows);
    for (int64_t i = 0; i < size; ++i) {
      std::fill(line.begin(), line.end(), 0.0f);
      for (int64_t r = first; r < last; ++r) {
        const float x = a[r * size + i];
        const float* const y = b + r * size;
        for (int64_t j = 0; j < size; ++j) line[static_cast<size_t>(j)] += x * y[j];
      }
      double* const sums = sums_.data() + i * size;
      for (int64_t j = 0; j < size; ++j) sums[j] += static_cast<double>(line[static_cast<size_t>(j)]);
    }
  }
  rows_ += rows;
}

std::vector<double> GramObserver::take_mean() {
  for (double& s : sums_) s /= static_cast<double>(rows_);
  size_ = rows_ = 0;
  return std::exchange(sums_, {});
}

}  // namespace vireo::quant
