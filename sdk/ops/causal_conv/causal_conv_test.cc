#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/causal_conv/causal_conv_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::causal_conv_test {
namespace {

using Floats = std::vector<float>;

std::vector<uint8_t> bytes(bool silu = false) {
  attrs::CausalConvT a;
  a.silu = silu;
  return pack<attrs::CausalConv>(a);
}

TEST(CausalConvWithState, TwoCallsAreOne) {
  OpTest whole(Op::kCausalConvWithState, bytes());
  whole.input<float>({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}).input<float>({2, 1, 3}, {1, 10, 100, 1, 0, -1});
  whole.input<float>({2}, {0.5f, 0}).outputs(2).slots(2);
  ASSERT_EQ(whole.run(), Status::kOk) << whole.message();
  EXPECT_EQ(whole.y(0).as<float>(), (Floats{100.5f, 210.5f, 321.5f, 432.5f, -5, -6, -2, -2}));
  EXPECT_EQ(whole.y(1).as<float>(), (Floats{3, 4, 7, 8}));
  // One sample at first: the state is longer than the call.
  OpTest first(Op::kCausalConvWithState, bytes());
  first.input<float>({1, 2, 1}, {1, 5})
      .input<float>({2, 1, 3}, {1, 10, 100, 1, 0, -1})
      .input<float>({2}, {0.5f, 0})
      .outputs(2);
  ASSERT_EQ(first.run(), Status::kOk) << first.message();
  EXPECT_EQ(first.y(1).as<float>(), (Floats{0, 1, 0, 5}));
  OpTest rest(Op::kCausalConvWithState, bytes());
  rest.input<float>({1, 2, 3}, {2, 3, 4, 6, 7, 8}).input<float>({2, 1, 3}, {1, 10, 100, 1, 0, -1});
  rest.input<float>({2}, {0.5f, 0}).input(first.y(1)).outputs(2);
  ASSERT_EQ(rest.run(), Status::kOk) << rest.message();
  EXPECT_EQ(rest.y(0).as<float>(), (Floats{210.5f, 321.5f, 432.5f, -6, -2, -2}));
  EXPECT_EQ(rest.y(1).bytes, whole.y(1).bytes);
}

TEST(CausalConvWithState, Silu) {
  OpTest t(Op::kCausalConvWithState, bytes(true));
  t.input<float>({1, 1, 2}, {1, -2}).input<float>({1, 1, 1}, {1}).outputs(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_NEAR(t.y(0).as<float>()[0], 1 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_NEAR(t.y(0).as<float>()[1], -2 / (1 + std::exp(2.0)), 1e-6);
  EXPECT_EQ(t.y(1).type.shape, make_shape({1, 1, 0}));
}

TEST(CausalConvWithState, RefusesAStateOfAnotherLength) {
  OpTest t(Op::kCausalConvWithState, bytes());
  t.input<float>({1, 1, 2}, {1, 2}).input<float>({1, 1, 3}, Floats(3)).absent().input<float>({1, 1, 3}, Floats(3));
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::causal_conv_test
