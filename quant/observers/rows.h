// A sample of rows, with channels last: those whose numbers (of the sample and of the row in it) hash lowest. So
// neither the order of samples nor how they are divided among observers changes which rows are kept. Elements are kept
// in bfloat16: what is asked of rows, how channels vary together, needs no more digits.
#ifndef VIREO_QUANT_OBSERVERS_ROWS_H_
#define VIREO_QUANT_OBSERVERS_ROWS_H_

#include <algorithm>
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
  // Whether rows that were brought back are at most as many as are kept, of `size` elements each.
  bool whole(size_t size) const {
    return rows_.size() <= most_ &&
           std::all_of(rows_.begin(), rows_.end(), [size](const auto& row) { return row.second.size() == size; });
  }
  // In the order of their hashes; elements in bfloat16.
  std::vector<const std::vector<uint16_t>*> rows() const;
  bool operator==(const RowsObserver& o) const { return rows_ == o.rows_; }

  // Calls f with each part of the state, to keep it and to bring it back.
  template <class F>
  void each_part(const F& f) {
    f(&rows_);
  }

 private:
  void trim();

  size_t most_;
  std::map<uint64_t, std::vector<uint16_t>> rows_;  // by hash
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_OBSERVERS_ROWS_H_
