#include "quant/observers/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quant/shared/widest.h"

namespace vireo::quant {
namespace {

constexpr float kNone = std::numeric_limits<float>::infinity();

// What is known of one channel.
struct Channel {
  float low = kNone, high = -kNone;
  double sum = 0, square = 0, magnitude = 0;
};

constexpr int64_t kLanes = 16;

// Adds a run of elements in lanes, which are put together in their order.
VIREO_WIDEST void add_run(const float* x, int64_t count, Channel* to) {
  float low[kLanes], high[kLanes];
  double sum[kLanes], square[kLanes], magnitude[kLanes];
  for (int64_t k = 0; k < kLanes; ++k) {
    low[k] = kNone;
    high[k] = -kNone;
    sum[k] = square[k] = magnitude[k] = 0;
  }
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      const float v = x[i + k];
      const double d = static_cast<double>(v);
      low[k] = v < low[k] ? v : low[k];
      high[k] = v > high[k] ? v : high[k];
      sum[k] += d;
      square[k] += d * d;
      magnitude[k] += std::fabs(d);
    }
  }
  for (int64_t k = 0; i < count; ++i, ++k) {
    const double d = static_cast<double>(x[i]);
    low[k] = x[i] < low[k] ? x[i] : low[k];
    high[k] = x[i] > high[k] ? x[i] : high[k];
    sum[k] += d;
    square[k] += d * d;
    magnitude[k] += std::fabs(d);
  }
  for (int64_t k = 0; k < kLanes; ++k) {
    to->low = low[k] < to->low ? low[k] : to->low;
    to->high = high[k] > to->high ? high[k] : to->high;
    to->sum += sum[k];
    to->square += square[k];
    to->magnitude += magnitude[k];
  }
}

// Adds rows of `channels` elements, one of each channel.
VIREO_WIDEST void add_rows(const float* x, int64_t rows, int64_t channels, float* low, float* high, double* sum,
                           double* square, double* magnitude) {
  for (int64_t r = 0; r < rows; ++r, x += channels) {
    for (int64_t c = 0; c < channels; ++c) {
      low[c] = x[c] < low[c] ? x[c] : low[c];
      high[c] = x[c] > high[c] ? x[c] : high[c];
    }
    for (int64_t c = 0; c < channels; ++c) {
      const double d = static_cast<double>(x[c]);
      sum[c] += d;
      square[c] += d * d;
      magnitude[c] += std::fabs(d);
    }
  }
}

void make_empty(size_t channels, BlockSummary* s) {
  s->not_finite = 0;
  s->lows.assign(channels, kNone);
  s->highs.assign(channels, -kNone);
  s->sums.assign(channels, 0);
  s->squares.assign(channels, 0);
  s->magnitudes.assign(channels, 0);
}

// The same of a block that has elements which are NaN or infinite.
void add_finite(const Block& block, BlockSummary* s) {
  const float* x = block.data;
  for (int64_t o = 0; o < block.outer; ++o) {
    for (size_t c = 0; c < static_cast<size_t>(block.channels); ++c) {
      for (int64_t i = 0; i < block.inner; ++i, ++x) {
        if (!std::isfinite(*x)) {
          ++s->not_finite;
          continue;
        }
        const double d = static_cast<double>(*x);
        s->lows[c] = std::min(s->lows[c], *x);
        s->highs[c] = std::max(s->highs[c], *x);
        s->sums[c] += d;
        s->squares[c] += d * d;
        s->magnitudes[c] += std::fabs(d);
      }
    }
  }
}

}  // namespace

float BlockSummary::low() const { return lows.empty() ? kNone : *std::min_element(lows.begin(), lows.end()); }
float BlockSummary::high() const { return highs.empty() ? -kNone : *std::max_element(highs.begin(), highs.end()); }
float BlockSummary::most() const { return std::max({-low(), high(), 0.0f}); }

BlockSummary summary_of(const Block& block) {
  const auto channels = static_cast<size_t>(block.channels);
  BlockSummary s;
  s.count = static_cast<uint64_t>(block.count());
  make_empty(channels, &s);
  if (block.inner == 1) {
    add_rows(block.data, block.outer, block.channels, s.lows.data(), s.highs.data(), s.sums.data(), s.squares.data(),
             s.magnitudes.data());
  } else {
    for (size_t c = 0; c < channels; ++c) {
      Channel of;
      for (int64_t o = 0; o < block.outer; ++o)
        add_run(block.data + (o * block.channels + static_cast<int64_t>(c)) * block.inner, block.inner, &of);
      s.lows[c] = of.low;
      s.highs[c] = of.high;
      s.sums[c] = of.sum;
      s.squares[c] = of.square;
      s.magnitudes[c] = of.magnitude;
    }
  }
  // Squares of finite float32 numbers do not overflow in float64.
  if (std::all_of(s.squares.begin(), s.squares.end(), [](double q) { return std::isfinite(q); })) return s;
  make_empty(channels, &s);
  add_finite(block, &s);
  return s;
}

}  // namespace vireo::quant
