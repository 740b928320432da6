#include "quant/observers/rows.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "quant/shared/widest.h"
#include "sdk/base/half.h"

namespace vireo::quant {
namespace {

// splitmix64's finaliser: a bijection, so that no two rows of one sample meet.
inline uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr int64_t kHashes = 256;

// Of `count` rows from `first` on, of one sample; at most kHashes.
VIREO_WIDEST void hash_rows(uint64_t sample, int64_t first, int64_t count, uint64_t* hashes) {
  const uint64_t from = (sample << 32) + static_cast<uint64_t>(first) + 1;
  for (int64_t i = 0; i < count; ++i) hashes[i] = mixed(from + static_cast<uint64_t>(i));
}

VIREO_WIDEST void to_bf16(const float* x, size_t count, uint16_t* y) {
  for (size_t i = 0; i < count; ++i) y[i] = f32_to_bf16(x[i]);
}

}  // namespace

void RowsObserver::trim() {
  while (rows_.size() > most_) rows_.erase(std::prev(rows_.end()));
}

void RowsObserver::add_made(uint64_t sample, int64_t count, size_t size,
                            const std::function<void(int64_t row, float* out)>& make) {
  std::vector<float> made(size);
  const auto bound = [this] { return rows_.size() < most_ ? UINT64_MAX : rows_.rbegin()->first; };
  uint64_t most = bound(), hashes[kHashes];
  for (int64_t r = 0; r < count; ++r) {
    if (r % kHashes == 0) hash_rows(sample, r, std::min(kHashes, count - r), hashes);
    const uint64_t hash = hashes[r % kHashes];
    if (hash >= most) continue;
    std::vector<uint16_t> row;
    if (rows_.size() >= most_) row = std::move(rows_.extract(std::prev(rows_.end())).mapped());
    make(r, made.data());
    row.resize(size);
    to_bf16(made.data(), size, row.data());
    rows_[hash] = std::move(row);
    most = bound();
  }
}

void RowsObserver::add(uint64_t sample, const Block& block) {
  add_made(sample, block.outer * block.inner, static_cast<size_t>(block.channels), [&](int64_t r, float* out) {
    const float* x = block.data + r / block.inner * block.channels * block.inner + r % block.inner;
    for (int64_t c = 0; c < block.channels; ++c) out[c] = x[c * block.inner];
  });
}

void RowsObserver::merge(const RowsObserver& other) {
  for (const auto& [hash, row] : other.rows_) rows_[hash] = row;
  trim();
}

std::vector<const std::vector<uint16_t>*> RowsObserver::rows() const {
  std::vector<const std::vector<uint16_t>*> out;
  for (const auto& [hash, row] : rows_) out.push_back(&row);
  return out;
}

}  // namespace vireo::quant
