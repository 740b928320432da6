#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/batch_normalization/batch_normalization_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::batch_normalization_test {
namespace {

OpTest batch_norm(const attrs::BatchNormalizationT& a) {
  return OpTest(Op::kBatchNormalization, pack<attrs::BatchNormalization>(a));
}

TEST(BatchNormalization, Formula) {  // scale (x - mean) / sqrt(var) + bias with numbers whose roots are exact
  attrs::BatchNormalizationT a;
  a.epsilon = 0;
  OpTest t = batch_norm(a);
  t.input<float>({1, 2, 1, 3}, {-1, 0, 1, 2, 3, 4}).input<float>({2}, {1, 1.5f}).input<float>({2}, {0, 1});
  t.input<float>({2}, {0, 3}).input<float>({2}, {1, 4}).in_place();
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{-1, 0, 1, 0.25f, 1, 1.75f}));
}

TEST(BatchNormalization, ChannelsLast) {
  attrs::BatchNormalizationT a;
  a.epsilon = 0;
  a.layout = 1;
  OpTest t = batch_norm(a);
  t.input<float>({1, 1, 3, 2}, {-1, 2, 0, 3, 1, 4}).input<float>({2}, {1, 1.5f}).input<float>({2}, {0, 1});
  t.input<float>({2}, {0, 3}).input<float>({2}, {1, 4});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{-1, 0.25f, 0, 1, 1, 1.75f}));
}

TEST(BatchNormalization, PerActivation) {  // opset 7, spatial = 0
  attrs::BatchNormalizationT a;
  a.epsilon = 0;
  OpTest t = batch_norm(a);
  t.input<float>({2, 1, 2}, {1, 2, 3, 4}).input<float>({1, 2}, {1, 10}).input<float>({1, 2}, {0, 0});
  t.input<float>({1, 2}, {1, 1}).input<float>({1, 2}, {1, 1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{0, 10, 2, 30}));
}

TEST(BatchNormalization, Training) {  // data mean 2.5, population variance 1.25
  attrs::BatchNormalizationT a;
  a.training_mode = true;
  a.momentum = 0.5f;
  OpTest t = batch_norm(a);
  t.input<float>({2, 1, 2}, {1, 2, 3, 4}).input<float>({1}, {1}).input<float>({1}, {0});
  t.input<float>({1}, {0.5f}).input<float>({1}, {0.25f}).outputs(3).in_place();
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_NEAR(t.y(0).as<float>()[0], -1.5f / std::sqrt(1.25001f), 1e-6f);
  EXPECT_NEAR(t.y(0).as<float>()[3], 1.5f / std::sqrt(1.25001f), 1e-6f);
  EXPECT_EQ(t.y(1).as<float>()[0], 1.5f);
  EXPECT_EQ(t.y(2).as<float>()[0], 0.75f);
}

TEST(BatchNormalization, RefusesParametersOfAnotherLength) {
  OpTest t = batch_norm({});
  t.input<float>({1, 2, 1}, {1, 2});
  for (int i = 0; i < 4; ++i) t.input<float>({3}, {1, 1, 1});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::batch_normalization_test
