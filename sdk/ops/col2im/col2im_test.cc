#include <gtest/gtest.h>

#include "sdk/ops/col2im/col2im_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::col2im_test {
namespace {

using F32 = std::vector<float>;

TEST(Col2Im, Strides) {  // ONNX "Col2Im": col2im_strides
  attrs::Col2ImT a;
  a.strides = {2, 2};
  a.dilations = {1, 1};
  a.pads = {0, 0, 0, 0};
  OpTest t(Op::kCol2Im, pack<attrs::Col2Im>(a));
  t.input<float>({1, 9, 4}, {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0,
                             0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0});
  t.input<int64_t>({2}, {5, 5}).input<int64_t>({2}, {3, 3});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (F32{0, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 2, 1, 2, 1, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0}));
}

TEST(Col2Im, PadsDilationsAndChannels) {
  attrs::Col2ImT a;
  a.strides = {1};
  a.dilations = {2};
  a.pads = {1, 1};
  OpTest t(Op::kCol2Im, pack<attrs::Col2Im>(a));
  // Blocks of 2 elements, 2 apart, at -1, 0, 1, 2 of 4 elements; two channels.
  t.input<float>({1, 4, 4}, {1, 2, 3, 4, 10, 20, 30, 40, 5, 6, 7, 8, 50, 60, 70, 80});
  t.input<int64_t>({1}, {4}).input<int64_t>({1}, {2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({1, 2, 4}));
  EXPECT_EQ(t.y().as<float>(), (F32{2, 13, 24, 30, 6, 57, 68, 70}));
}

TEST(Col2Im, IntegersWrapAround) {  // 100 + 100 and -100 - 100 in eight bits
  attrs::Col2ImT a;
  a.strides = {1};
  OpTest t(Op::kCol2Im, pack<attrs::Col2Im>(a));
  t.input<int8_t>({1, 2, 2}, {1, 100, 100, -3}).input<int64_t>({1}, {3}).input<int64_t>({1}, {2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int8_t>(), (std::vector<int8_t>{1, -56, -3}));
  OpTest strings(Op::kCol2Im, pack<attrs::Col2Im>(attrs::Col2ImT{}));
  strings.input_strings({1, 1, 1}, {"a"}).input<int64_t>({1}, {1}).input<int64_t>({1}, {1});
  EXPECT_EQ(strings.run(), Status::kUnsupported);
}

TEST(Col2Im, RefusesAnotherNumberOfBlocks) {
  OpTest t(Op::kCol2Im, pack<attrs::Col2Im>(attrs::Col2ImT{}));
  t.input<float>({1, 2, 2}, F32(4)).input<int64_t>({1}, {4}).input<int64_t>({1}, {2});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::col2im_test
