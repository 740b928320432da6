// A sample of rows, with channels last: those whose numbers (of the sample and of the row in it) hash lowest. So
// neither the order of samples nor how they are divided among observers changes which rows are kept.
#ifndef VIREO_QUANT_OBSERVERS_ROWS_H_
#define VIREO_QUANT_OBSERVERS_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "quant/observers/block.h"

namespace vireo::quant {

class RowsObserver {
 public:
  static constexpr size_t kMost = 512;
  explicit RowsObserver(size_t most = kMost) : most_(most) {}

  void add(uint64_t sample, const Block& block);
  // The same for rows that are made when they are kept: make(row, out) writes `size` elements.
  void add_made(uint64_t sample, int64_t count, size_t size, const std::function<void(int64_t row, float* out)>& make);
  void merge(const RowsObserver& other);

  size_t count() const { return rows_.size(); }
  // In the order of their hashes.
  std::vector<const std::vector<float>*> rows() const;
  bool operator==(const RowsObserver& o) const { return rows_ == o.rows_; }

 private:
  void trim();

  size_t most_;
  std::map<uint64_t, std::vector<float>> rows_;  // by hash
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_OBSERVERS_ROWS_H_
