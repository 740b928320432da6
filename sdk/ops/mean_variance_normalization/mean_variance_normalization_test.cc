#include <gtest/gtest.h>

#include "sdk/ops/mean_variance_normalization/mean_variance_normalization_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::mean_variance_normalization_test {
namespace {

OpTest norm(const std::vector<int32_t>& axes) {
  attrs::MeanVarianceNormalizationT a;
  a.axes = axes;
  return OpTest(Op::kMeanVarianceNormalization, pack<attrs::MeanVarianceNormalization>(a));
}

TEST(MeanVarianceNormalization, PerChannelOverBatchAndArea) {  // channel 0: 1 3 1 3; channel 1: 0 8 0 8
  OpTest t = norm({0, -1});
  t.input<float>({2, 2, 2}, {1, 3, 0, 8, 1, 3, 0, 8}).in_place().slots(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(t.y().as<float>()[i], i % 2 == 0 ? -1 : 1, 1e-6f);
}

TEST(MeanVarianceNormalization, ConstantInputGivesZero) {
  OpTest t = norm({0});
  t.input<float>({3}, {7, 7, 7});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{0, 0, 0}));
}

TEST(MeanVarianceNormalization, RefusesAxis) {
  OpTest t = norm({3});
  t.input<float>({3}, {7, 7, 7});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::mean_variance_normalization_test
