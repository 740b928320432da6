#include "quant/observers/histogram.h"

#include <algorithm>
#include <cmath>

#include "quant/shared/widest.h"

namespace vireo::quant {
namespace {

constexpr int64_t kBlock = 1024;           // elements whose bins are found at once
constexpr int64_t kTables = 4;             // of counts beside each other...
constexpr int64_t kApart = 4;              // ... from this many elements a bin on, which pay for putting them together
constexpr int64_t kMostInTable = 1 << 30;  // counts of 32 bits
constexpr int kLeastPlainExponent = -100;  // below it 1 / width is no float

// The bins of numbers below the end of the range; `scale` is a power of two.
VIREO_WIDEST void find_bins(const float* x, int64_t count, float scale, int32_t* bins) {
  constexpr int32_t kHalf = HistogramObserver::kBins / 2;
  for (int64_t i = 0; i < count; ++i) {
    const float at = x[i] * scale;
    const auto whole = static_cast<int32_t>(at);
    const int32_t bin = whole - (at < static_cast<float>(whole) ? 1 : 0) + kHalf;
    bins[i] = bin < 0 ? 0 : bin > 2 * kHalf - 1 ? 2 * kHalf - 1 : bin;
  }
}

}  // namespace

double HistogramObserver::width() const { return std::ldexp(2.0 / kBins, exponent_); }

int HistogramObserver::first() const {
  for (int i = 0; i < kBins; ++i) {
    if (count(i) != 0) return i;
  }
  return 0;
}
int HistogramObserver::last() const {
  for (int i = kBins - 1; i > 0; --i) {
    if (count(i) != 0) return i;
  }
  return 0;
}

void HistogramObserver::widen(int exponent) {
  if (counts_.empty()) counts_.resize(kBins);
  const int steps = exponent - exponent_;
  if (steps <= 0) return;
  if (total_ != 0) {
    std::vector<uint64_t> wide(kBins);
    for (int i = 0; i < kBins; ++i) {
      // Bins are counted from 0 in both directions, and shifted towards minus infinity.
      const int from = i - kBins / 2;
      const int to = steps > 30 ? (from < 0 ? -1 : 0) : from >> steps;
      const int at = to + kBins / 2;
      wide[static_cast<size_t>(at)] += counts_[static_cast<size_t>(i)];
    }
    counts_ = std::move(wide);
  }
  exponent_ = exponent;
}

void HistogramObserver::add(const Block& block, const BlockSummary& summary) {
  const float most = summary.most();
  int exponent = kLeastExponent;
  if (most > 0) {
    std::frexp(most, &exponent);  // most < 2^exponent
    exponent = std::max(exponent, kLeastExponent);
  }
  widen(std::max(exponent, exponent_));
  const bool plain = summary.not_finite == 0 && exponent_ >= kLeastPlainExponent;
  plain ? count_all(block.data, block.count()) : count_finite(block.data, block.count());
  total_ += summary.count - summary.not_finite;
}

void HistogramObserver::count_all(const float* x, int64_t n) {
  const auto scale = static_cast<float>(1 / width());
  if (n < kApart * kBins) {
    int32_t bins[kBlock];
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t block = std::min(kBlock, n - i);
      find_bins(x + i, block, scale, bins);
      for (int64_t k = 0; k < block; ++k) ++counts_[static_cast<size_t>(bins[k])];
    }
    return;
  }
  // Neighbours are often equal (0 behind a Relu): tables apart, so that a count need not wait for the one before.
  std::vector<uint32_t> apart(kTables * kBins);
  int32_t bins[kBlock];
  for (int64_t i = 0; i < n; i += kMostInTable) {
    const int64_t end = std::min(i + kMostInTable, n);
    for (int64_t j = i; j < end; j += kBlock) {
      const int64_t block = std::min(kBlock, end - j);
      find_bins(x + j, block, scale, bins);
      int64_t k = 0;
      for (; k + kTables <= block; k += kTables) {
        for (int64_t t = 0; t < kTables; ++t) ++apart[static_cast<size_t>(t * kBins + bins[k + t])];
      }
      for (; k < block; ++k) ++apart[static_cast<size_t>(bins[k])];
    }
    for (size_t b = 0; b < kBins; ++b) {
      for (size_t t = 0; t < kTables; ++t) counts_[b] += apart[t * kBins + b];
    }
    if (end != n) std::fill(apart.begin(), apart.end(), 0);
  }
}

void HistogramObserver::count_finite(const float* x, int64_t n) {
  const double scale = 1 / width();
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) continue;
    const auto bin = static_cast<int>(std::floor(static_cast<double>(x[i]) * scale)) + kBins / 2;
    ++counts_[static_cast<size_t>(std::clamp(bin, 0, kBins - 1))];
  }
}

void HistogramObserver::merge(const HistogramObserver& other) {
  if (other.empty()) return;
  HistogramObserver copy = other;
  widen(std::max(exponent_, copy.exponent_));
  copy.widen(exponent_);
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += copy.counts_[i];
  total_ += copy.total_;
}

}  // namespace vireo::quant
