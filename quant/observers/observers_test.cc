// States merge to what one pass gives, and blocks may come in any order: the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "quant/observers/gram.h"
#include "quant/observers/histogram.h"
#include "quant/observers/moments.h"
#include "quant/observers/range.h"
#include "quant/observers/rows.h"
#include "sdk/base/half.h"

namespace vireo::quant::observers_test {
namespace {

// Samples of 3 channels whose sizes differ by orders of magnitude.
std::vector<std::vector<float>> samples() {
  std::mt19937 rng(7);
  std::normal_distribution<float> value(0.3f, 1);
  std::vector<std::vector<float>> out(9);
  for (size_t s = 0; s < out.size(); ++s) {
    out[s].resize(3 * 50);
    for (float& x : out[s]) x = value(rng) * std::ldexp(1.0f, static_cast<int>(s * 3) - 12);
  }
  return out;
}
Block block(const std::vector<float>& x) { return {x.data(), 1, 3, static_cast<int64_t>(x.size()) / 3}; }

TEST(Observers, AnyOrderAndAnyDivisionGiveTheSameBits) {
  const auto all = samples();
  RangeObserver range;
  HistogramObserver histogram;
  MomentsObserver moments;
  RowsObserver rows;
  for (size_t s = 0; s < all.size(); ++s) {
    range.add(summary_of(block(all[s])));
    histogram.add(block(all[s]), summary_of(block(all[s])));
    moments.add(summary_of(block(all[s])));
    rows.add(s, block(all[s]));
  }
  RangeObserver ranges[2];
  HistogramObserver histograms[2];
  MomentsObserver both_moments[2];
  RowsObserver both_rows[2];
  for (size_t s = all.size(); s-- > 0;) {
    ranges[s % 2].add(summary_of(block(all[s])));
    histograms[s % 2].add(block(all[s]), summary_of(block(all[s])));
    both_moments[s % 2].add(summary_of(block(all[s])));
    both_rows[s % 2].add(s, block(all[s]));
  }
  ranges[1].merge(ranges[0]);
  histograms[1].merge(histograms[0]);
  both_moments[1].merge(both_moments[0]);
  both_rows[1].merge(both_rows[0]);
  EXPECT_EQ(ranges[1].low(), range.low());
  EXPECT_EQ(ranges[1].high(), range.high());
  EXPECT_EQ(ranges[1].lows(), range.lows());
  EXPECT_EQ(ranges[1].highs(), range.highs());
  EXPECT_TRUE(histograms[1] == histogram);
  EXPECT_TRUE(both_moments[1] == moments);
  EXPECT_TRUE(both_rows[1] == rows);
}

TEST(Observers, HistogramCountsEveryElementInItsBin) {
  const auto all = samples();
  HistogramObserver h;
  std::vector<float> sorted;
  for (const auto& s : all) {
    h.add(block(s), summary_of(block(s)));
    sorted.insert(sorted.end(), s.begin(), s.end());
  }
  std::sort(sorted.begin(), sorted.end());
  uint64_t below = 0;
  for (int bin = 0; bin < HistogramObserver::kBins; ++bin) {
    below += h.count(bin);
    const double end = (bin + 1 - HistogramObserver::kBins / 2) * h.width();
    const auto wanted = std::lower_bound(sorted.begin(), sorted.end(), end,
                                         [](float x, double e) { return static_cast<double>(x) < e; });
    ASSERT_EQ(below, static_cast<uint64_t>(wanted - sorted.begin())) << bin;
  }
  EXPECT_EQ(h.total(), sorted.size());
  // The largest element fills at least half of the range.
  EXPECT_LT(h.width() * HistogramObserver::kBins / 4, std::max(std::fabs(sorted.front()), sorted.back()));
}

// Blocks of many elements are counted in tables beside each other, in vectors; most elements are 0.
TEST(Observers, LargeBlocksAreCountedLikeSmallOnes) {
  std::mt19937 rng(5);
  std::normal_distribution<float> value(0, 3);
  std::vector<float> x(3 * HistogramObserver::kBins * 8 + 5);
  for (float& v : x) v = std::max(value(rng), 0.0f) - (rng() % 64 == 0 ? 4.0f : 0.0f);
  const auto n = static_cast<int64_t>(x.size());
  HistogramObserver whole, parts;
  whole.add({x.data(), 1, 1, n}, summary_of({x.data(), 1, 1, n}));
  for (int64_t i = 0; i < n; i += 1000) {
    const Block part = {x.data() + i, 1, 1, std::min<int64_t>(1000, n - i)};
    parts.add(part, summary_of(part));
  }
  EXPECT_TRUE(whole == parts);
  std::vector<uint64_t> counts(HistogramObserver::kBins);
  for (const float v : x)
    ++counts[static_cast<size_t>(std::floor(static_cast<double>(v) / whole.width())) + HistogramObserver::kBins / 2];
  for (int b = 0; b < HistogramObserver::kBins; ++b) ASSERT_EQ(whole.count(b), counts[static_cast<size_t>(b)]) << b;
}

// Channels in the middle and last, runs longer and shorter than the vectors.
TEST(Observers, SummariesAreThoseOfTheElements) {
  std::mt19937 rng(6);
  std::normal_distribution<float> value(0.5f, 2);
  for (const Block shape : {Block{nullptr, 3, 5, 37}, Block{nullptr, 7, 33, 1}, Block{nullptr, 2, 3, 4}}) {
    std::vector<float> x(static_cast<size_t>(shape.count()));
    for (float& v : x) v = value(rng);
    const BlockSummary s = summary_of({x.data(), shape.outer, shape.channels, shape.inner});
    for (int64_t c = 0; c < shape.channels; ++c) {
      float low = INFINITY, high = -INFINITY;
      double sum = 0, square = 0, magnitude = 0;
      for (int64_t o = 0; o < shape.outer; ++o) {
        for (int64_t i = 0; i < shape.inner; ++i) {
          const float v = x[static_cast<size_t>((o * shape.channels + c) * shape.inner + i)];
          low = std::min(low, v);
          high = std::max(high, v);
          sum += static_cast<double>(v);
          square += static_cast<double>(v) * static_cast<double>(v);
          magnitude += std::fabs(static_cast<double>(v));
        }
      }
      const auto at = static_cast<size_t>(c);
      EXPECT_EQ(s.lows[at], low);
      EXPECT_EQ(s.highs[at], high);
      EXPECT_NEAR(s.sums[at], sum, 1e-9);
      EXPECT_NEAR(s.squares[at], square, 1e-9);
      EXPECT_NEAR(s.magnitudes[at], magnitude, 1e-9);
    }
  }
}

TEST(Observers, MomentsAreThoseOfTheElements) {
  const std::vector<float> x = {1, 2, -3, 0.5f, -0.5f, 4};
  MomentsObserver m;
  m.add(summary_of({x.data(), 1, 2, 3}));
  EXPECT_DOUBLE_EQ(m.mean(0), 0);
  EXPECT_DOUBLE_EQ(m.mean_magnitude(0), 2);
  EXPECT_DOUBLE_EQ(m.mean_square(1), (0.25 + 0.25 + 16) / 3);
}

TEST(Observers, WhatIsNotFiniteIsCountedApart) {
  const std::vector<float> x = {1, NAN, -INFINITY, 2};
  RangeObserver r;
  HistogramObserver h;
  const Block b = {x.data(), 1, 1, 4};
  r.add(summary_of(b));
  h.add(b, summary_of(b));
  EXPECT_EQ(r.not_finite(), 2u);
  EXPECT_EQ(r.low(), 1);
  EXPECT_EQ(r.high(), 2);
  EXPECT_EQ(h.total(), 2u);
}

TEST(Observers, RowsAreBoundedAndHaveTheirChannels) {
  std::vector<float> x(4 * 2000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  RowsObserver rows;
  rows.add(3, {x.data(), 1, 4, 2000});  // channels second: a row is every 2000th element
  EXPECT_EQ(rows.count(), RowsObserver::kMost);
  for (const std::vector<uint16_t>* row : rows.rows()) {
    ASSERT_EQ(row->size(), 4u);
    EXPECT_NEAR(bf16_to_f32((*row)[3]) - bf16_to_f32((*row)[0]), 6000, 32);  // half a step of 8 bits below 8192, twice
  }
}

TEST(Observers, GramIsTheMeanOfProducts) {
  std::mt19937 rng(9);
  std::normal_distribution<float> value(0, 1);
  std::vector<float> a(3 * 150), b(a.size());
  for (float& v : a) v = value(rng);
  for (float& v : b) v = value(rng);
  GramObserver whole, parts;
  whole.add(a.data(), b.data(), 150, 3);
  parts.add(a.data(), b.data(), 128, 3);  // blocks of rows lie as in the whole
  parts.add(a.data() + 3 * 128, b.data() + 3 * 128, 22, 3);
  EXPECT_EQ(whole.rows(), 150);
  const std::vector<double> mean = whole.take_mean();
  EXPECT_EQ(parts.take_mean(), mean);
  EXPECT_EQ(whole.size(), 0);
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      double sum = 0;
      for (size_t r = 0; r < 150; ++r) sum += static_cast<double>(a[r * 3 + i]) * static_cast<double>(b[r * 3 + j]);
      EXPECT_NEAR(mean[i * 3 + j], sum / 150, 1e-5);
    }
  }
}

}  // namespace
}  // namespace vireo::quant::observers_test
