#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/one_hot/one_hot_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::one_hot_test {
namespace {

std::vector<uint8_t> axis(int a) {
  attrs::OneHotT t;
  t.axis = a;
  return pack<attrs::OneHot>(t);
}

TEST(OneHot, WrapsOnceAndIgnoresWhatIsOutside) {  // ONNX "OneHot": onehot_negative_indices
  OpTest t(Op::kOneHot, axis(1));
  t.input<int64_t>({3}, {0, -7, -8}).input<float>({1}, {10}).input<float>({2}, {1, 3});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({3, 10}));
  std::vector<float> expect(30, 1);
  expect[0] = expect[13] = expect[22] = 3;
  EXPECT_EQ(t.y().as<float>(), expect);
  OpTest outside(Op::kOneHot, axis(-1));
  outside.input<float>({3}, {2, -3, NAN}).input<int64_t>({}, {2}).input_strings({2}, {"off", "on"});
  ASSERT_EQ(outside.run(), Status::kOk) << outside.message();
  EXPECT_EQ(outside.y().strings, std::vector<std::string>(6, "off"));
}

TEST(OneHot, AxisInFront) {
  OpTest t(Op::kOneHot, axis(0));
  t.input<int32_t>({2}, {1, 0}).input<int64_t>({}, {3}).input<int8_t>({2}, {0, 1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({3, 2}));
  EXPECT_EQ(t.y().as<int8_t>(), (std::vector<int8_t>{0, 1, 1, 0, 0, 0}));
}

TEST(OneHot, Refuses) {
  OpTest depth(Op::kOneHot, axis(0));
  EXPECT_EQ(depth.input<int32_t>({1}, {1}).input<int64_t>({}, {-1}).input<float>({2}, {0, 1}).run(),
            Status::kInvalidModel);
  OpTest values(Op::kOneHot, axis(0));
  EXPECT_EQ(values.input<int32_t>({1}, {1}).input<int64_t>({}, {1}).input<float>({1}, {0}).run(),
            Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::one_hot_test
