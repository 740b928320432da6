#include <gtest/gtest.h>

#include "sdk/ops/split/split_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::split_test {
namespace {

std::vector<uint8_t> attrs_of(int axis, int parts = 0) {
  attrs::SplitT t;
  t.axis = axis;
  t.num_outputs = parts;
  return pack<attrs::Split>(t);
}

TEST(Split, UnevenLastPartIsSmaller) {  // ONNX "Split", example split_1d_uneven_split_opset18
  OpTest t(Op::kSplit, attrs_of(0, 4));
  t.input<float>({7}, {1, 2, 3, 4, 5, 6, 7}).outputs(4);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(0).as<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(t.y(2).as<float>(), (std::vector<float>{5, 6}));
  EXPECT_EQ(t.y(3).as<float>(), (std::vector<float>{7}));
}

TEST(Split, MorePartsThanElementsLeavesEmptyOnes) {
  OpTest t(Op::kSplit, attrs_of(-1));
  t.input<int8_t>({2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).outputs(4);  // 2, 2, 1, 0
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(2).as<int8_t>(), (std::vector<int8_t>{4, 9}));
  EXPECT_EQ(t.y(3).type.shape, make_shape({2, 0}));
}

TEST(Split, GivenSizes) {  // ONNX "Split", example split_variable_parts_2d_opset18
  OpTest t(Op::kSplit, attrs_of(1));
  t.input<float>({2, 6}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}).input<int64_t>({2}, {2, 4}).outputs(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(0).as<float>(), (std::vector<float>{1, 2, 7, 8}));
  EXPECT_EQ(t.y(1).as<float>(), (std::vector<float>{3, 4, 5, 6, 9, 10, 11, 12}));
}

TEST(Split, TrailingPartNotWanted) {
  OpTest t(Op::kSplit, attrs_of(0, 3));
  t.input<float>({6}, {1, 2, 3, 4, 5, 6}).outputs(2);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y(1).as<float>(), (std::vector<float>{3, 4}));
}

TEST(Split, Refuses) {
  OpTest sum(Op::kSplit, attrs_of(0));
  EXPECT_EQ(sum.input<float>({3}, {1, 2, 3}).input<int64_t>({2}, {1, 1}).outputs(2).run(), Status::kInvalidModel);
  OpTest negative(Op::kSplit, attrs_of(0));
  EXPECT_EQ(negative.input<float>({1}, {1}).input<int64_t>({2}, {2, -1}).outputs(2).run(), Status::kInvalidModel);
  OpTest few(Op::kSplit, attrs_of(0));
  EXPECT_EQ(few.input<float>({1}, {1}).input<int64_t>({1}, {1}).outputs(2).run(), Status::kInvalidModel);
}

TEST(Split, PartsWithoutASum) {  // 2^64, which is 0 to whom it overflows
  std::vector<int64_t> sizes((1 << 24) + 1, int64_t{1} << 40);
  sizes.front() = int64_t{1} << 33;  // so that no sum on the way is a handle
  sizes.back() -= sizes.front();
  OpTest t(Op::kSplit, attrs_of(0));
  t.input<float>({0}, {}).input<int64_t>({(1 << 24) + 1}, sizes);
  EXPECT_EQ(t.infer(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::split_test
