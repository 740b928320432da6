#include "quant/observers/histogram.h"

#include <algorithm>
#include <cmath>

namespace vireo::quant {

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

void HistogramObserver::add(const Block& block) {
  const int64_t n = block.count();
  float most = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float x = std::fabs(block.data[i]);
    if (std::isfinite(x)) most = std::max(most, x);
  }
  int exponent = kLeastExponent;
  if (most > 0) {
    std::frexp(most, &exponent);  // most < 2^exponent
    exponent = std::max(exponent, kLeastExponent);
  }
  widen(std::max(exponent, exponent_));
  const double scale = 1 / width();
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(block.data[i])) continue;
    // The floor by a conversion, as |x| <= kBins / 2: std::floor is a call where SSE4.1 cannot be relied on.
    const double x = static_cast<double>(block.data[i]) * scale;
    const int whole = static_cast<int>(x);
    const int bin = whole - (x < whole ? 1 : 0) + kBins / 2;
    ++counts_[static_cast<size_t>(std::clamp(bin, 0, kBins - 1))];
    ++total_;
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
