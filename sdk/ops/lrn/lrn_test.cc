#include <gtest/gtest.h>

#include "sdk/ops/lrn/lrn_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::lrn_test {
namespace {

OpTest lrn(int size, uint8_t layout = 0) {  // alpha = size makes the factor before the sum 1
  attrs::LRNT a;
  a.size = size;
  a.alpha = static_cast<float>(size);
  a.beta = 1;
  a.layout = layout;
  return OpTest(Op::kLRN, pack<attrs::LRN>(a));
}

TEST(LRN, WindowsOfChannels) {  // size 3: one channel on either side; size 2: one after
  OpTest t = lrn(3);
  t.input<float>({1, 3, 1, 1}, {1, 2, 3}).slots(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{1 / 6.0f, 2 / 15.0f, 3 / 14.0f}));
  OpTest u = lrn(2);
  u.input<float>({1, 3, 1, 1}, {1, 2, 3});
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_EQ(u.y().as<float>(), (std::vector<float>{1 / 6.0f, 2 / 14.0f, 3 / 10.0f}));
}

TEST(LRN, ChannelsLast) {
  OpTest t = lrn(3, 1);
  t.input<float>({1, 2, 3}, {1, 2, 3, 0, 0, 1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{1 / 6.0f, 2 / 15.0f, 3 / 14.0f, 0, 0, 0.5f}));
}

TEST(LRN, RefusesSizeZero) {
  OpTest t = lrn(0);
  t.input<float>({1, 3, 1, 1}, {1, 2, 3});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::lrn_test
