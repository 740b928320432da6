#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/clip/clip_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::clip_test {
namespace {

std::vector<uint8_t> plain() { return pack<attrs::Clip>(attrs::ClipT{}); }

TEST(Clip, OnnxExamples) {  // ONNX "Clip": clip_example, clip_min_greater_than_max, clip_default_int8_min
  OpTest example(Op::kClip, plain());
  example.input<float>({3}, {-2, 0, 2}).input<float>({}, {-1}).input<float>({}, {1}).in_place();
  ASSERT_EQ(example.run(), Status::kOk) << example.message();
  EXPECT_EQ(example.y().as<float>(), (std::vector<float>{-1, 0, 1}));
  OpTest crossed(Op::kClip, plain());
  crossed.input<float>({3}, {-2, 0, 6}).input<float>({}, {2}).input<float>({}, {1});
  ASSERT_EQ(crossed.run(), Status::kOk) << crossed.message();
  EXPECT_EQ(crossed.y().as<float>(), (std::vector<float>{1, 1, 1}));
  OpTest low(Op::kClip, plain());
  low.input<int8_t>({3}, {-1, 0, 1}).input<int8_t>({}, {0});
  ASSERT_EQ(low.run(), Status::kOk) << low.message();
  EXPECT_EQ(low.y().as<int8_t>(), (std::vector<int8_t>{0, 0, 1}));
}

TEST(Clip, OnlyAHighBoundAndNaN) {
  OpTest t(Op::kClip, plain());
  t.input<float>({3}, {NAN, 5, -INFINITY}).absent().input<float>({1}, {2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_TRUE(std::isnan(t.y().as<float>()[0]));
  EXPECT_EQ(t.y().as<float>()[1], 2.0f);
  EXPECT_EQ(t.y().as<float>()[2], -INFINITY);
}

TEST(Clip, Refuses) {
  OpTest shape(Op::kClip, plain());
  EXPECT_EQ(shape.input<float>({2}, {1, 2}).input<float>({2}, {1, 2}).run(), Status::kInvalidModel);
  OpTest type(Op::kClip, plain());
  EXPECT_EQ(type.input<float>({2}, {1, 2}).input<int32_t>({}, {1}).run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::clip_test
