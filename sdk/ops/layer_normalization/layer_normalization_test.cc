#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/layer_normalization/layer_normalization_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::layer_normalization_test {
namespace {

OpTest layer(const attrs::LayerNormalizationT& a) {
  return OpTest(Op::kLayerNormalization, pack<attrs::LayerNormalization>(a));
}
OpTest rms(const attrs::RMSNormalizationT& a) {
  return OpTest(Op::kRMSNormalization, pack<attrs::RMSNormalization>(a));
}

TEST(LayerNormalization, Formula) {  // [1,3]: mean 2, var 1; [0,8]: mean 4, var 16. Epsilon 0: exact
  attrs::LayerNormalizationT a;
  a.epsilon = 0;
  OpTest t = layer(a);
  t.input<float>({2, 2}, {1, 3, 0, 8})
      .input<float>({2}, {1, 2})
      .input<float>({2}, {0, 10})
      .outputs(3)
      .in_place()
      .slots(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(0).as<float>(), (std::vector<float>{-1, 12, -1, 12}));
  EXPECT_EQ(t.y(1).type.shape, make_shape({2, 1}));
  EXPECT_EQ(t.y(1).as<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(t.y(2).as<float>(), (std::vector<float>{1, 0.25f}));
}

TEST(LayerNormalization, AxesFromTheMiddleAndBroadcastScale) {
  attrs::LayerNormalizationT a;
  a.epsilon = 0;
  a.axis = 1;
  OpTest t = layer(a);
  t.input<double>({1, 2, 2}, {1, 1, 3, 3}).input<double>({2, 1}, {1, 5});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<double>(), (std::vector<double>{-1, -1, 5, 5}));
}

// Law: y does not change when a constant is added to x. x + 1 is exact on this grid, sums are exact in double.
TEST(LayerNormalization, ShiftInvariant) {
  std::vector<float> x(64), moved(64), ones(64, 1.0f);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>((i * 29) % 64) / 64;
    moved[i] = x[i] + 1;
  }
  OpTest p = layer({}), q = layer({});
  p.input<float>({64}, x).input<float>({64}, ones);
  q.input<float>({64}, moved).input<float>({64}, ones);
  ASSERT_EQ(p.run(), Status::kOk) << p.message();
  ASSERT_EQ(q.run(), Status::kOk) << q.message();
  EXPECT_EQ(p.y().as<float>(), q.y().as<float>());
}

TEST(RMSNormalization, Formula) {  // [3,4]: root of mean square sqrt(12.5)
  attrs::RMSNormalizationT a;
  a.epsilon = 0;
  OpTest t = rms(a);
  t.input<float>({1, 2}, {3, 4}).input<float>({2}, {1, 2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_NEAR(t.y().as<float>()[0], 3 / std::sqrt(12.5f), 1e-7f);
  EXPECT_NEAR(t.y().as<float>()[1], 8 / std::sqrt(12.5f), 2e-7f);
}

TEST(RMSNormalization, OutputHasTheTypeOfScale) {
  OpTest t = rms({});
  t.input<F16>({1, 2}, {F16(1), F16(1)}).input<float>({2}, {1, 2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  ASSERT_EQ(t.y().type.dtype, DType::kF32);
  EXPECT_NEAR(t.y().as<float>()[1], 2.0f, 2e-5f);
}

TEST(LayerNormalization, Refusals) {
  attrs::LayerNormalizationT a;
  a.axis = 2;
  OpTest axis = layer(a);
  axis.input<float>({2, 2}, {1, 3, 0, 8}).input<float>({2}, {1, 2});
  EXPECT_EQ(axis.run(), Status::kInvalidModel);
  OpTest scale = layer({});
  scale.input<float>({2, 2}, {1, 3, 0, 8}).input<float>({3}, {1, 2, 3});
  EXPECT_EQ(scale.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::layer_normalization_test
