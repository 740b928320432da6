#include <gtest/gtest.h>

#include "sdk/ops/lp_normalization/lp_normalization_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::lp_normalization_test {
namespace {

OpTest norm(int axis, int p) {
  attrs::LpNormalizationT a;
  a.axis = axis;
  a.p = p;
  return OpTest(Op::kLpNormalization, pack<attrs::LpNormalization>(a));
}

TEST(LpNormalization, BothNorms) {
  OpTest t = norm(-1, 2);
  t.input<float>({3, 2}, {3, -4, 0, 0, 0, -5}).in_place();
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{0.6f, -0.8f, 0, 0, 0, -1}));
  OpTest u = norm(0, 1);
  u.input<float>({2, 2}, {1, -2, 3, 2});
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_EQ(u.y().as<float>(), (std::vector<float>{0.25f, -0.5f, 0.75f, 0.5f}));
}

TEST(LpNormalization, Refusals) {
  OpTest p = norm(0, 3);
  p.input<float>({1}, {1});
  EXPECT_EQ(p.run(), Status::kInvalidModel);
  OpTest axis = norm(1, 1);
  axis.input<float>({1}, {1});
  EXPECT_EQ(axis.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::lp_normalization_test
