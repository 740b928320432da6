#include "quant/metrics/metric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "quant/metrics/testing.h"

namespace vireo::quant::metric_test {
namespace {

using testing::added;
using testing::row;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Metrics, EveryOneIsFoundByItsName) {
  for (const MetricKind& kind : metric_kinds()) EXPECT_EQ(find_metric(kind.name), &kind);
  EXPECT_EQ(find_metric("top2"), nullptr);
}

TEST(Metrics, WithoutSamplesThereIsNoValue) {
  for (const MetricKind& kind : metric_kinds()) {
    const auto metric = kind.make();
    EXPECT_TRUE(std::isnan(metric->value())) << kind.name;
    EXPECT_EQ(metric->samples(), 0u) << kind.name;
  }
}

TEST(Top1, TakesTheFirstOfEqualScores) {
  const auto metric = find_metric("top1")->make();
  EXPECT_EQ(added(metric.get(), row({1, 3, 3}), {1}), "");
  EXPECT_EQ(added(metric.get(), row({1, 3, 3}), {2}), "");
  EXPECT_EQ(metric->each(), (std::vector<double>{1, 0}));
  EXPECT_EQ(metric->value(), 0.5);
}

TEST(Top1, NaNIsBelowAllNumbers) {
  const auto metric = find_metric("top1")->make();
  EXPECT_EQ(added(metric.get(), row({kNaN, -3, -4}), {1}), "");
  EXPECT_EQ(metric->value(), 1);
}

TEST(Top1, SaysWhatDoesNotFit) {
  const auto metric = find_metric("top1")->make();
  EXPECT_NE(added(metric.get(), row({1, 2}), {2}).find("label 2 is none of the 2 classes of output 'y' (1x2)"),
            std::string::npos);
  EXPECT_NE(added(metric.get(), row({1, 2}), {-1}).find("label -1"), std::string::npos);
  EXPECT_NE(added(metric.get(), row({1}), {0}).find("no row of scores"), std::string::npos);
  Output square = row({1, 2, 3, 4});
  square.dims = {2, 2};
  EXPECT_NE(added(metric.get(), square, {0}).find("(2x2) has 2 rows of scores"), std::string::npos);
  EXPECT_EQ(metric->samples(), 0u);
}

TEST(Top5, OfEqualScoresTheLowerClassIsBetter) {
  const auto metric = find_metric("top5")->make();
  const Output scores = row({1, 1, 1, 1, 1, 1});
  EXPECT_EQ(added(metric.get(), scores, {4}), "");
  EXPECT_EQ(added(metric.get(), scores, {5}), "");
  EXPECT_EQ(metric->each(), (std::vector<double>{1, 0}));
  EXPECT_NE(added(metric.get(), row({1, 2, 3, 4, 5}), {0}), "") << "five of five classes are always right";
}

// numpy: -log(exp(x - max).sum()) of [1000, 1001, 999] is 0.40760596, as of [0, 1, -1].
TEST(Nll, LargeScoresDoNotOverflow) {
  const auto metric = find_metric("nll")->make();
  EXPECT_EQ(added(metric.get(), row({1000, 1001, 999}), {1}), "");
  EXPECT_NEAR(metric->value(), 0.40760596444438, 1e-12);
}

TEST(Metrics, ASelectionCountsSamplesAsOftenAsItSays) {
  const auto metric = find_metric("top1")->make();
  EXPECT_EQ(added(metric.get(), row({1, 0}), {0}), "");
  EXPECT_EQ(added(metric.get(), row({1, 0}), {1}), "");
  const std::vector<uint32_t> times{3, 1};
  EXPECT_EQ(metric->value({times.data(), times.size()}), 0.75);
}

}  // namespace
}  // namespace vireo::quant::metric_test
