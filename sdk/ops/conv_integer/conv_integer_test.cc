#include <gtest/gtest.h>

#include "sdk/ops/conv_integer/conv_integer_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::conv_integer_test {
namespace {

OpTest conv(Op op, const attrs::ConvIntegerT& a = {}) { return OpTest(op, pack<attrs::ConvInteger>(a)); }

TEST(ConvInteger, OnnxExamples) {  // ONNX "ConvInteger", examples without_padding and with_padding
  const std::vector<uint8_t> x = {2, 3, 4, 5, 6, 7, 8, 9, 10}, w = {1, 1, 1, 1};
  OpTest t = conv(Op::kConvInteger);
  t.input<uint8_t>({1, 1, 3, 3}, x).input<uint8_t>({1, 1, 2, 2}, w).input<uint8_t>({}, {1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int32_t>(), (std::vector<int32_t>{12, 16, 24, 28}));
  attrs::ConvIntegerT a;
  a.pads = {1, 1, 1, 1};
  OpTest u = conv(Op::kConvInteger, a);
  u.input<uint8_t>({1, 1, 3, 3}, x).input<uint8_t>({1, 1, 2, 2}, w).input<uint8_t>({}, {1});
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_EQ(u.y().as<int32_t>(), (std::vector<int32_t>{1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9}));
}

TEST(ConvInteger, ZeroPointsOfFilters) {
  OpTest t = conv(Op::kConvInteger);
  t.input<int8_t>({1, 1, 2}, {-128, 127}).input<uint8_t>({2, 1, 1}, {0, 255}).input<int8_t>({}, {-128});
  t.input<uint8_t>({2}, {255, 0});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int32_t>(), (std::vector<int32_t>{0, -65025, 0, 65025}));
}

TEST(QLinearConv, OnnxExample) {  // ONNX "QLinearConv", first row of example qlinearconv: w is -1 times its scale
  OpTest t = conv(Op::kQLinearConv);
  t.input<uint8_t>({1, 1, 1, 7}, {255, 174, 162, 25, 203, 168, 58})
      .input<float>({}, {0.00369204697f})
      .input<uint8_t>({}, {132});
  t.input<uint8_t>({1, 1, 1, 1}, {0}).input<float>({1}, {0.00172794575f}).input<uint8_t>({1}, {255});
  t.input<float>({}, {0.00162681262f}).input<uint8_t>({}, {123});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<uint8_t>(), (std::vector<uint8_t>{0, 81, 93, 230, 52, 87, 197}));
}

TEST(QLinearConv, BiasAndScalesOfChannels) {  // (6 + 4) * 0.25 = 2.5 -> 2; (12 - 2) * 0.5 = 5
  OpTest t = conv(Op::kQLinearConv);
  t.input<int8_t>({1, 1, 1}, {6}).input<float>({}, {0.5f}).input<int8_t>({}, {0});
  t.input<int8_t>({2, 1, 1}, {1, 2}).input<float>({2}, {0.5f, 1}).input<int8_t>({2}, {0, 0});
  t.input<float>({}, {1}).input<int8_t>({}, {0}).input<int32_t>({2}, {4, -2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int8_t>(), (std::vector<int8_t>{2, 5}));
}

TEST(ConvInteger, Refusals) {
  OpTest t = conv(Op::kConvInteger);
  t.input<uint8_t>({1, 1, 2}, {1, 2}).input<uint8_t>({1, 1, 1}, {1}).input<int8_t>({}, {1});
  EXPECT_EQ(t.run(), Status::kInvalidModel);
  OpTest u = conv(Op::kConvInteger);
  u.input<uint8_t>({1, 1, 2}, {1, 2}).input<uint8_t>({1, 1, 1}, {1}).input<uint8_t>({2}, {1, 1});
  EXPECT_EQ(u.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::conv_integer_test
