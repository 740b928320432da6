#include <gtest/gtest.h>

#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::conv_test {
namespace {

std::vector<float> iota(int n) {
  std::vector<float> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i);
  return v;
}

OpTest conv(const attrs::ConvT& a) { return OpTest(Op::kConv, pack<attrs::Conv>(a)); }

// ONNX "Conv", examples conv_with_strides_padding and conv_with_strides_no_padding: input 7x5 of 0..34, 3x3 ones,
// stride 2.
TEST(Conv, OnnxStridesPadding) {
  attrs::ConvT a;
  a.strides = {2, 2};
  a.pads = {1, 1, 1, 1};
  OpTest t = conv(a);
  t.input<float>({1, 1, 7, 5}, iota(35)).input<float>({1, 1, 3, 3}, std::vector<float>(9, 1.0f));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({1, 1, 4, 3}));
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{12, 27, 24, 63, 108, 81, 123, 198, 141, 112, 177, 124}));
}

TEST(Conv, OnnxAsymmetricPadding) {  // example conv_with_strides_and_asymmetric_padding
  attrs::ConvT a;
  a.strides = {2, 2};
  a.pads = {1, 0, 1, 0};
  OpTest t = conv(a);
  t.input<float>({1, 1, 7, 5}, iota(35)).input<float>({1, 1, 3, 3}, std::vector<float>(9, 1.0f));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{21, 33, 99, 117, 189, 207, 171, 183}));
}

TEST(Conv, OnnxSameLower) {  // example conv_with_autopad_same: input 5x5 of 0..24, stride 2
  attrs::ConvT a;
  a.strides = {2, 2};
  a.auto_pad = static_cast<uint8_t>(AutoPad::kSameLower);
  OpTest t = conv(a);
  t.input<float>({1, 1, 5, 5}, iota(25)).input<float>({1, 1, 3, 3}, std::vector<float>(9, 1.0f));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{12, 27, 24, 63, 108, 81, 72, 117, 84}));
}

TEST(Conv, SameUpperPutsTheOddPadLast) {  // total padding 1: nothing before, one after
  attrs::ConvT a;
  a.auto_pad = static_cast<uint8_t>(AutoPad::kSameUpper);
  OpTest t = conv(a);
  t.input<float>({1, 1, 3}, {1, 2, 4}).input<float>({1, 1, 2}, {10, 1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{12, 24, 40}));
}

TEST(Conv, GroupsDilationBias) {
  attrs::ConvT a;
  a.group = 2;
  a.dilations = {2};
  OpTest t = conv(a);
  t.input<float>({1, 2, 4}, {1, 2, 3, 4, 10, 20, 30, 40})
      .input<float>({2, 1, 2}, {1, 1, 1, -1})
      .input<float>({2}, {0.5f, 7});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{4.5f, 6.5f, -13, -13}));
}

// Law: moving channels last in x and y changes nothing else. Integers in float add exactly, so to the bit.
TEST(Conv, LayoutsAgree) {
  attrs::ConvT a;
  a.group = 2;
  a.strides = {2, 1};
  a.pads = {1, 0, 2, 1};
  const int n = 2, c = 4, h = 5, w = 6, m = 6;
  std::vector<float> x(n * c * h * w), xt(x.size()), k(m * 2 * 3 * 2);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7 + i / 5) % 23) - 11;
  for (size_t i = 0; i < k.size(); ++i) k[i] = static_cast<float>((i * 5) % 13) - 6;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < c; ++j)
      for (int s = 0; s < h * w; ++s)
        xt[static_cast<size_t>((i * h * w + s) * c + j)] = x[static_cast<size_t>((i * c + j) * h * w + s)];
  OpTest first = conv(a);
  first.input<float>({n, c, h, w}, x).input<float>({m, 2, 3, 2}, k).slots(3);
  ASSERT_EQ(first.run(), Status::kOk) << first.message();
  a.layout = static_cast<uint8_t>(Layout::kNhwc);
  OpTest last = conv(a);
  last.input<float>({n, h, w, c}, xt).input<float>({m, 2, 3, 2}, k);
  ASSERT_EQ(last.run(), Status::kOk) << last.message();
  const Shape s = first.y().type.shape;
  EXPECT_EQ(last.y().type.shape, make_shape({s[0], s[2], s[3], s[1]}));
  const auto p = first.y().as<float>(), q = last.y().as<float>();
  const int64_t area = s[2] * s[3];
  for (int64_t i = 0; i < s[0]; ++i)
    for (int64_t j = 0; j < s[1]; ++j)
      for (int64_t o = 0; o < area; ++o)
        ASSERT_EQ(p[static_cast<size_t>((i * s[1] + j) * area + o)], q[static_cast<size_t>((i * area + o) * s[1] + j)]);
}

TEST(Conv, ThreeDimensionsIn16Bits) {
  std::vector<F16> x(27, F16(1.0f)), w(8, F16(0.5f));
  OpTest t = conv({});
  t.input<F16>({1, 1, 3, 3, 3}, x).input<F16>({1, 1, 2, 2, 2}, w);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  for (const F16 v : t.y().as<F16>()) EXPECT_EQ(static_cast<float>(v), 4.0f);
}

TEST(Conv, EmptyBatch) {
  OpTest t = conv({});
  t.input<float>({0, 1, 3}, {}).input<float>({1, 1, 2}, {1, 1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().type.shape, make_shape({0, 1, 2}));
}

TEST(Conv, Refusals) {
  OpTest channels = conv({});
  channels.input<float>({1, 4, 3, 3}, iota(36)).input<float>({1, 3, 1, 1}, iota(3));
  EXPECT_EQ(channels.run(), Status::kInvalidModel);
  EXPECT_NE(std::string(channels.message()).find("4 channels"), std::string::npos) << channels.message();
  OpTest size = conv({});
  size.input<float>({1, 1, 2, 2}, iota(4)).input<float>({1, 1, 3, 3}, iota(9));
  EXPECT_EQ(size.run(), Status::kInvalidModel);
  attrs::ConvT a;
  a.strides = {1, 0};
  OpTest stride = conv(a);
  stride.input<float>({1, 1, 2, 2}, iota(4)).input<float>({1, 1, 1, 1}, iota(1));
  EXPECT_EQ(stride.run(), Status::kInvalidModel);
  OpTest bias = conv({});
  bias.input<float>({1, 1, 2, 2}, iota(4)).input<float>({2, 1, 1, 1}, iota(2)).input<float>({3}, iota(3));
  EXPECT_EQ(bias.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::conv_test
