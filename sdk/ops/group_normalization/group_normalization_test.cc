#include <gtest/gtest.h>

#include "sdk/ops/group_normalization/group_normalization_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::group_normalization_test {
namespace {

OpTest norm(int groups, uint8_t layout = 0) {
  attrs::GroupNormalizationT a;
  a.num_groups = groups;
  a.epsilon = 0;
  a.layout = layout;
  return OpTest(Op::kGroupNormalization, pack<attrs::GroupNormalization>(a));
}

const std::vector<float> kX = {1,  3, 0, 8,
                               -2, 2, 5, 7};  // 4 channels of 2; pairs have mean 2, 4, 0, 6 and deviation 1, 4, 2, 1

TEST(GroupNormalization, EachChannelAlone) {  // InstanceNormalization
  OpTest t = norm(0);
  t.input<float>({1, 4, 2}, kX).input<float>({4}, {1, 2, 3, 4}).input<float>({4}, {0, 0, 0, 10}).in_place().slots(3);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{-1, 1, -2, 2, -3, 3, 6, 14}));
}

TEST(GroupNormalization,
     GroupsAndBothParameterLengths) {  // channels 0 and 1: mean 3, variance 9.5; of 2 and 3: 3 and 11.5
  OpTest t = norm(2);
  t.input<float>({1, 4, 2}, kX).input<float>({2}, {1, 2}).input<float>({2}, {0, 1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  OpTest u = norm(2);
  u.input<float>({1, 4, 2}, kX).input<float>({4}, {1, 1, 2, 2}).input<float>({4}, {0, 0, 1, 1});
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_EQ(t.y().as<float>(), u.y().as<float>());
  EXPECT_NEAR(t.y().as<float>()[3], 5 / 3.0822070f, 1e-6f);
  EXPECT_NEAR(t.y().as<float>()[7], 1 + 2 * 4 / 3.3911650f, 1e-6f);
}

TEST(GroupNormalization, ChannelsLast) {
  OpTest t = norm(0, 1);
  t.input<float>({1, 2, 4}, {1, 0, -2, 5, 3, 8, 2, 7}).input<float>({4}, {1, 2, 3, 4}).input<float>({4}, {0, 0, 0, 10});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{-1, -2, -3, 6, 1, 2, 3, 14}));
}

TEST(GroupNormalization, Refusals) {
  OpTest groups = norm(3);
  groups.input<float>({1, 4, 2}, kX).input<float>({4}, {1, 2, 3, 4}).input<float>({4}, {0, 0, 0, 10});
  EXPECT_EQ(groups.run(), Status::kInvalidModel);
  OpTest length = norm(2);
  length.input<float>({1, 4, 2}, kX).input<float>({3}, {1, 2, 3}).input<float>({4}, {0, 0, 0, 10});
  EXPECT_EQ(length.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::group_normalization_test
