#include <gtest/gtest.h>

#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/conv_transpose/conv_transpose_generated.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::conv_transpose_test {
namespace {

const std::vector<float> kNine = {0, 1, 2, 3, 4, 5, 6, 7, 8};

OpTest conv(const attrs::ConvTransposeT& a) { return OpTest(Op::kConvTranspose, pack<attrs::ConvTranspose>(a)); }

TEST(ConvTranspose, OnnxExample) {  // ONNX "ConvTranspose", example convtranspose, first output channel
  OpTest t = conv({});
  t.input<float>({1, 1, 3, 3}, kNine).input<float>({1, 1, 3, 3}, std::vector<float>(9, 1.0f));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{0,  1,  3, 3,  2,  3,  8,  15, 12, 7,  9,  21, 36,
                                                   27, 15, 9, 20, 33, 24, 13, 6,  13, 21, 15, 8}));
}

TEST(ConvTranspose, OnnxPads) {  // example convtranspose_pads: [1,1,3,3] -> [1,1,7,3]
  attrs::ConvTransposeT a;
  a.strides = {3, 2};
  a.pads = {1, 2, 1, 2};
  OpTest t = conv(a);
  t.input<float>({1, 1, 3, 3}, kNine).input<float>({1, 1, 3, 3}, std::vector<float>(9, 1.0f));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{1, 1, 3, 1, 1, 3, 7, 4, 9, 7, 4, 9, 7, 4, 9, 13, 7, 15, 13, 7, 15}));
}

TEST(ConvTranspose, OutputShapeMayExceedTheSpan) {  // example convtranspose_output_shape in one dimension
  attrs::ConvTransposeT a;
  a.strides = {2};
  a.output_shape = {8};
  OpTest t = conv(a);
  t.input<float>({1, 1, 3}, {0, 1, 2}).input<float>({1, 1, 3}, {1, 1, 1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{0, 0, 1, 1, 3, 2, 2, 0}));
}

TEST(ConvTranspose, SamePads) {  // total padding 1: SAME_UPPER cuts it from the end, SAME_LOWER from the beginning
  attrs::ConvTransposeT a;
  a.strides = {2};
  a.auto_pad = static_cast<uint8_t>(AutoPad::kSameUpper);
  OpTest t = conv(a);
  t.input<float>({1, 1, 3}, {0, 1, 2}).input<float>({1, 1, 3}, {1, 1, 1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{0, 0, 1, 1, 3, 2}));
  a.auto_pad = static_cast<uint8_t>(AutoPad::kSameLower);
  OpTest u = conv(a);
  u.input<float>({1, 1, 3}, {0, 1, 2}).input<float>({1, 1, 3}, {1, 1, 1});
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_EQ(u.y().as<float>(), (std::vector<float>{0, 1, 1, 3, 2, 2}));
}

TEST(ConvTranspose, GroupsBiasDilationOutputPadding) {
  attrs::ConvTransposeT a;
  a.group = 2;
  a.dilations = {2};
  a.strides = {2};
  a.output_padding = {1};
  OpTest t = conv(a);
  t.input<float>({1, 2, 2}, {1, 2, 10, 20}).input<float>({2, 1, 2}, {1, 3, 1, -1}).input<float>({2}, {0, 100});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{1, 0, 5, 0, 6, 0, 110, 100, 110, 100, 80, 100}));
}

// Law: <Conv(x), z> = <x, ConvTranspose(z)> for the same weights. Small integers in float add exactly.
TEST(ConvTranspose, IsTheAdjointOfConv) {
  const int c = 4, m = 6, h = 7, w = 5;
  attrs::ConvT f;
  f.group = 2;
  f.strides = {2, 1};
  f.dilations = {1, 2};
  f.pads = {1, 2, 0, 1};
  std::vector<float> x(c * h * w), k(m * 2 * 3 * 2);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7) % 11) - 5;
  for (size_t i = 0; i < k.size(); ++i) k[i] = static_cast<float>((i * 5) % 9) - 4;
  OpTest forward(Op::kConv, pack<attrs::Conv>(f));
  forward.input<float>({1, c, h, w}, x).input<float>({m, 2, 3, 2}, k);
  ASSERT_EQ(forward.run(), Status::kOk) << forward.message();
  const Shape s = forward.y().type.shape;
  std::vector<float> z(static_cast<size_t>(product(s, 0, 4)));
  for (size_t i = 0; i < z.size(); ++i) z[i] = static_cast<float>((i * 3) % 7) - 3;
  attrs::ConvTransposeT b;
  b.group = f.group;
  b.strides = f.strides;
  b.dilations = f.dilations;
  b.pads = f.pads;
  b.output_padding = {1, 0};  // Conv reads 2 * 2 + 3 = 7 of its 7 + 1 padded rows: one is left over
  OpTest backward = conv(b);
  backward.input<float>({1, m, s[2], s[3]}, z).input<float>({m, 2, 3, 2}, k).slots(2);
  ASSERT_EQ(backward.run(), Status::kOk) << backward.message();
  ASSERT_EQ(backward.y().type.shape, make_shape({1, c, h, w}));
  float left = 0, right = 0;
  const auto y = forward.y().as<float>(), q = backward.y().as<float>();
  for (size_t i = 0; i < z.size(); ++i) left += y[i] * z[i];
  for (size_t i = 0; i < x.size(); ++i) right += x[i] * q[i];
  EXPECT_EQ(left, right);
}

TEST(ConvTranspose, Refusals) {
  OpTest t = conv({});
  t.input<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6}).input<float>({1, 1, 3}, {1, 1, 1});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
  attrs::ConvTransposeT a;
  a.output_shape = {1, 2};
  OpTest u = conv(a);
  u.input<float>({1, 1, 3}, {0, 1, 2}).input<float>({1, 1, 3}, {1, 1, 1});
  EXPECT_EQ(u.run(), Status::kInvalidModel);
}

TEST(ConvTranspose, FiltersOfNoBytes) {  // without input channels a filter may have 2^62 taps
  attrs::ConvTransposeT a;
  a.pads = {1 << 30, 1 << 30, (1 << 30) - 2, (1 << 30) - 2};
  OpTest t = conv(a);
  t.input<float>({1, 0, 1, 1}, {}).input<float>({0, 1, INT32_MAX, INT32_MAX}, {}).input<float>({1}, {5});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({1, 1, 1, 1}));
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{5}));
}

}  // namespace
}  // namespace vireo::conv_transpose_test
