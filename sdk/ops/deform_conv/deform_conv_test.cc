#include <gtest/gtest.h>

#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/deform_conv/deform_conv_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::deform_conv_test {
namespace {

const std::vector<float> kNine = {0, 1, 2, 3, 4, 5, 6, 7, 8};

OpTest conv(const attrs::DeformConvT& a) { return OpTest(Op::kDeformConv, pack<attrs::DeformConv>(a)); }

TEST(DeformConv, OnnxExample) {  // ONNX "DeformConv", example basic_deform_conv_without_padding
  std::vector<float> offset(8 * 4, 0.0f);
  offset[0] = 0.5f;           // row of tap (0,0) for output (0,0)
  offset[5 * 4 + 1] = -0.1f;  // column of tap (1,0) for output (0,1)
  OpTest t = conv({});
  t.input<float>({1, 1, 3, 3}, kNine).input<float>({1, 1, 2, 2}, {1, 1, 1, 1}).input<float>({1, 8, 2, 2}, offset);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const std::vector<float> wanted = {9.5f, 11.9f, 20, 24};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(t.y().as<float>()[i], wanted[i], 2e-6f) << i;
}

// Law: without offsets and mask it is Conv. Small integers in float add exactly.
TEST(DeformConv, WithoutOffsetsIsConv) {
  attrs::DeformConvT a;
  a.group = 2;
  a.offset_group = 2;
  a.strides = {2, 1};
  a.pads = {1, 0, 1, 2};
  attrs::ConvT c;
  c.group = a.group;
  c.strides = a.strides;
  c.pads = a.pads;
  std::vector<float> x(2 * 4 * 5 * 4), w(6 * 2 * 3 * 2);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7) % 11) - 5;
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>((i * 5) % 9) - 4;
  OpTest plain(Op::kConv, pack<attrs::Conv>(c));
  plain.input<float>({2, 4, 5, 4}, x).input<float>({6, 2, 3, 2}, w);
  ASSERT_EQ(plain.run(), Status::kOk) << plain.message();
  const Shape s = plain.y().type.shape;
  OpTest t = conv(a);
  t.input<float>({2, 4, 5, 4}, x).input<float>({6, 2, 3, 2}, w).slots(2);
  t.input<float>({2, 24, s[2], s[3]}, std::vector<float>(static_cast<size_t>(2 * 24 * s[2] * s[3]), 0.0f));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), plain.y().as<float>());
}

TEST(DeformConv, MaskAndBias) {  // one tap, moved by (1, 1), half of it, plus 10
  OpTest t = conv({});
  t.input<float>({1, 1, 3, 3}, kNine)
      .input<float>({1, 1, 1, 1}, {1})
      .input<float>({1, 2, 3, 3}, std::vector<float>(18, 1.0f));
  t.input<float>({1}, {10}).input<float>({1, 1, 3, 3}, std::vector<float>(9, 0.5f));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{12, 12.5f, 10, 13.5f, 14, 10, 10, 10, 10}));
}

TEST(DeformConv, RefusesOffsetsOfAnotherShape) {
  OpTest t = conv({});
  t.input<float>({1, 1, 3, 3}, kNine)
      .input<float>({1, 1, 2, 2}, {1, 1, 1, 1})
      .input<float>({1, 4, 2, 2}, std::vector<float>(16));
  EXPECT_EQ(t.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::deform_conv_test
