#include "quant/metrics/significance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quant/metrics/testing.h"

namespace vireo::quant::significance_test {
namespace {

// A metric of `n` samples, of which those are right that `right` says.
template <typename Right>
std::unique_ptr<Metric> shares(size_t n, const Right& right) {
  auto metric = find_metric("top1")->make();
  for (size_t i = 0; i < n; ++i) testing::added(metric.get(), testing::row({1, 0}), {right(i) ? 0 : 1});
  return metric;
}

// Python: min(1, 2 sum(comb(n, k) for k in range(min(b, c) + 1)) / 2^n).
TEST(Significance, McNemarIsExact) {
  EXPECT_NEAR(mcnemar(10, 2), 0.03857421875, 1e-12);
  EXPECT_NEAR(mcnemar(0, 6), 0.03125, 1e-12);
  EXPECT_NEAR(mcnemar(460, 400), 0.04416954819458901, 1e-10);
  EXPECT_EQ(mcnemar(3, 3), 1);
  EXPECT_EQ(mcnemar(0, 0), 1);
}

TEST(Significance, EqualModelsAreNotToldApart) {
  const auto a = shares(100, [](size_t i) { return i % 3 != 0; });
  const auto drawn = resampled(*a);
  ASSERT_EQ(drawn.size(), kResamples);
  for (const bool counts : {true, false}) {
    const Apart same = compare(*a, *a, counts, drawn, drawn);
    EXPECT_FALSE(same.apart);
    EXPECT_EQ(same.p, 1);
    EXPECT_EQ(same.samples_needed, 0);
  }
}

// b is right where a is, and in 10 of 1,000 samples more; in 20 others one of the two is.
TEST(Significance, NeededSamplesFollowTheFormula) {
  const auto a = shares(1000, [](size_t i) { return i < 500 || (i >= 900 && i < 920); });
  const auto b = shares(1000, [](size_t i) { return i < 500 || (i >= 920 && i < 950); });
  const Apart apart = compare(*a, *b, true, resampled(*a), resampled(*b));
  EXPECT_TRUE(apart.mcnemar);
  EXPECT_NEAR(apart.p, mcnemar(20, 30), 1e-12);
  EXPECT_FALSE(apart.apart);
  EXPECT_EQ(apart.samples_needed, 3923) << "numpy: 3922.08 for a difference of 0.01, 0.05 of the pairs uneven";
}

// The standard deviation of a share p of n is sqrt(p (1 - p) / n): 0.0158 here, and the interval is 1.96 of them.
TEST(Significance, IntervalOfAShareIsTheNormalOne) {
  const auto a = shares(1000, [](size_t i) { return i % 2 == 0; });
  const Interval interval = middle95(resampled(*a));
  EXPECT_NEAR(interval.lo, 0.5 - 1.96 * 0.0158, 0.005);
  EXPECT_NEAR(interval.hi, 0.5 + 1.96 * 0.0158, 0.005);
}

TEST(Significance, PairedResamplesSeeADifferenceThatIsSmallerThanEitherInterval) {
  const auto kind = find_metric("nll");
  const auto a = kind->make(), b = kind->make();
  for (int i = 0; i < 200; ++i) {
    const float wide = static_cast<float>(i % 20);
    testing::added(a.get(), testing::row({0, wide}), {0});
    testing::added(b.get(), testing::row({0, wide + 0.01f}), {0});
  }
  const auto drawn_a = resampled(*a), drawn_b = resampled(*b);
  const Interval of_a = middle95(drawn_a);
  const Apart apart = compare(*a, *b, false, drawn_a, drawn_b);
  EXPECT_GT(of_a.hi - of_a.lo, 10 * (b->value() - a->value()));
  EXPECT_TRUE(apart.apart);
  EXPECT_LT(apart.p, 0.01);
  EXPECT_LT(apart.samples_needed, 200);
}

TEST(Significance, ResamplesAreTheSameEachTime) {
  const auto a = shares(50, [](size_t i) { return i % 7 == 0; });
  EXPECT_EQ(resampled(*a), resampled(*a));
}

}  // namespace
}  // namespace vireo::quant::significance_test
