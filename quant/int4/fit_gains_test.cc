// Gains by least squares: what was wrong by a factor a channel is found, and nothing is changed for the worse.
#include "quant/int4/fit_gains.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace vireo::quant::fit_gains_test {
namespace {

constexpr int64_t kSize = 12, kColumns = 30;

ir::ConstantPtr matrix(const std::vector<float>& values) {
  Shape shape;
  shape.rank = 2;
  shape[0] = kSize;
  shape[1] = kColumns;
  return ir::make_constant_of<float>(DType::kF32, shape, values);
}

struct Data {
  Data() {
    std::mt19937 rng(5);
    std::normal_distribution<float> normal(0, 1);
    w.resize(kSize * kColumns);
    for (float& v : w) v = normal(rng);
    std::vector<float> x(kSize * 100);
    for (size_t i = 0; i < x.size(); ++i) x[i] = normal(rng) + (i % kSize > 0 ? 0.5f * x[i - 1] : 0);
    GramObserver gram;
    gram.add(x.data(), x.data(), 100, kSize);
    moment = gram.take_mean();
  }
  std::vector<float> w;
  std::vector<double> moment, no_drift;
};

TEST(FitGains, FindsAFactorForEachChannel) {
  const Data data;
  std::vector<float> changed = data.w;
  for (size_t i = 0; i < changed.size(); ++i) changed[i] *= 1 + 0.02f * static_cast<float>(i / kColumns % 5);
  GainFit fit(data.moment, data.no_drift);
  fit.add(*matrix(data.w), *matrix(changed), false);
  const std::vector<float> factors = fit.factors();
  ASSERT_EQ(factors.size(), static_cast<size_t>(kSize));
  for (size_t k = 0; k < factors.size(); ++k) EXPECT_NEAR(factors[k], 1 + 0.02f * static_cast<float>(k % 5), 2e-3) << k;
}

TEST(FitGains, LeavesWhatIsRight) {
  const Data data;
  GainFit fit(data.moment, data.no_drift);
  fit.add(*matrix(data.w), *matrix(data.w), false);
  for (const float f : fit.factors()) EXPECT_NEAR(f, 1, 1e-6);
}

// More columns than are taken at once, as rows and as columns.
TEST(FitGains, TakesManyColumnsInEitherOrder) {
  constexpr int64_t kMany = 2500;
  const Data data;
  std::mt19937 rng(6);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> w(kSize * kMany), changed(w.size()), w_rows(w.size()), changed_rows(w.size());
  for (int64_t k = 0; k < kSize; ++k) {
    for (int64_t n = 0; n < kMany; ++n) {
      const auto at = static_cast<size_t>(k * kMany + n), turned = static_cast<size_t>(n * kSize + k);
      w[at] = w_rows[turned] = normal(rng);
      changed[at] = changed_rows[turned] = w[at] * (1 + 0.02f * static_cast<float>(k % 5));
    }
  }
  const auto many = [](const std::vector<float>& values, bool by_rows) {
    Shape shape;
    shape.rank = 2;
    shape[by_rows ? 1 : 0] = kSize;
    shape[by_rows ? 0 : 1] = kMany;
    return ir::make_constant_of<float>(DType::kF32, shape, values);
  };
  GainFit fit(data.moment, data.no_drift), by_rows(data.moment, data.no_drift);
  fit.add(*many(w, false), *many(changed, false), false);
  by_rows.add(*many(w_rows, true), *many(changed_rows, true), true);
  const std::vector<float> factors = fit.factors();
  ASSERT_EQ(factors.size(), static_cast<size_t>(kSize));
  for (size_t k = 0; k < factors.size(); ++k) EXPECT_NEAR(factors[k], 1 + 0.02f * static_cast<float>(k % 5), 2e-3) << k;
  EXPECT_EQ(by_rows.factors(), factors);
}

// x0 is 1.1 x: all gains have to grow as much.
TEST(FitGains, FollowsWhatCameInBefore) {
  const Data data;
  std::vector<double> drift = data.moment;
  for (double& v : drift) v *= 0.1;
  GainFit fit(data.moment, drift);
  fit.add(*matrix(data.w), *matrix(data.w), false);
  const std::vector<float> factors = fit.factors();
  ASSERT_EQ(factors.size(), static_cast<size_t>(kSize));
  for (const float f : factors) EXPECT_NEAR(1 / f, 1.1, 2e-3);
}

}  // namespace
}  // namespace vireo::quant::fit_gains_test
