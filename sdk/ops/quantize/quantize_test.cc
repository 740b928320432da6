#include <gtest/gtest.h>

#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::quantize_test {
namespace {

OpTest quantize(const attrs::QuantizeLinearT& a = {}) {
  return OpTest(Op::kQuantizeLinear, pack<attrs::QuantizeLinear>(a));
}
OpTest dequantize(const attrs::DequantizeLinearT& a = {}) {
  return OpTest(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a));
}
TestTensor coded(DType t, const std::vector<int64_t>& dims, const std::vector<uint8_t>& bytes) {
  return TestTensor{{t, make_shape(dims)}, bytes, {}};
}

TEST(QuantizeLinear, OnnxExample) {  // ONNX "QuantizeLinear", example quantizelinear
  OpTest t = quantize();
  t.input<float>({6}, {0, 2, 3, 1000, -254, -1000}).input<float>({}, {2}).input<uint8_t>({}, {128});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<uint8_t>(), (std::vector<uint8_t>{128, 129, 130, 255, 1, 0}));
}

TEST(QuantizeLinear, OnnxAxis) {  // example quantizelinear_axis
  OpTest t = quantize();
  t.input<float>({1, 3, 3, 2},
                 {-162, 10, -100, 232, -20, -50, -76, 0, 0, 252, 32, -44, 245, -485, -960, -270, -375, -470});
  t.input<float>({3}, {2, 4, 5}).input<uint8_t>({3}, {84, 24, 196}).slots(3);
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<uint8_t>(),
            (std::vector<uint8_t>{3, 89, 34, 200, 74, 59, 5, 24, 24, 87, 32, 13, 245, 99, 4, 142, 121, 102}));
}

TEST(QuantizeLinear, TiesToEvenAndNoZeroPoint) {
  attrs::QuantizeLinearT a;
  a.output_dtype = static_cast<uint8_t>(DType::kI8);
  OpTest t = quantize(a);
  t.input<float>({6}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 1e30f}).input<float>({}, {1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int8_t>(), (std::vector<int8_t>{0, 2, 2, 0, -2, 127}));
}

TEST(QuantizeLinear, FourBitsPack) {  // rounding, saturation at -8 and 7, first element in the low half
  attrs::QuantizeLinearT a;
  a.output_dtype = static_cast<uint8_t>(DType::kI4);
  OpTest t = quantize(a);
  t.input<float>({5}, {1, -1, 100, -100, 3}).input<float>({}, {1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  ASSERT_EQ(t.y().bytes.size(), 3u);
  EXPECT_EQ(t.y().bytes[0], 0xF1);
  EXPECT_EQ(t.y().bytes[1], 0x87);
  EXPECT_EQ(t.y().bytes[2] & 15, 3);
}

TEST(QuantizeLinear, Blocks) {  // blocks of 2 along axis 1, the last one short
  attrs::QuantizeLinearT a;
  a.block_size = 2;
  a.output_dtype = static_cast<uint8_t>(DType::kI16);
  OpTest t = quantize(a);
  t.input<float>({2, 3}, {2, 4, 6, 8, 10, 12}).input<float>({2, 2}, {1, 2, 4, 0.5f});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int16_t>(), (std::vector<int16_t>{2, 4, 3, 2, 2, 24}));
}

// For a number as scale, a kernel reads one zero point: a vector of one is that too, an empty one has nothing to read.
TEST(QuantizeLinear, EmptyZeroPointIsRefused) {
  for (const size_t count : {0, 1}) {
    const std::vector<int64_t> dims = {static_cast<int64_t>(count)};
    OpTest q = quantize(), d = dequantize();
    q.input<float>({2}, {1, 2}).input<float>({}, {1}).input<uint8_t>(dims, std::vector<uint8_t>(count, 3));
    EXPECT_EQ(q.run(), count == 1 ? Status::kOk : Status::kInvalidModel) << q.message();
    d.input<uint8_t>({2}, {1, 2}).input<float>({}, {1}).input<uint8_t>(dims, std::vector<uint8_t>(count, 3));
    EXPECT_EQ(d.run(), count == 1 ? Status::kOk : Status::kInvalidModel) << d.message();
  }
}

TEST(QuantizeLinear, Float8Saturates) {  // ONNX example quantizelinear_e4m3fn: 448 is the largest number
  attrs::QuantizeLinearT a;
  a.output_dtype = static_cast<uint8_t>(DType::kF8E4M3FN);
  OpTest t = quantize(a);
  t.input<float>({3}, {0, 2, 100000}).input<float>({1}, {2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().bytes, (std::vector<uint8_t>{0x00, 0x38, 0x7E}));
}

TEST(QuantizeLinear, Float4AddsItsZeroPoint) {  // 0, 1, -4 and -6 with a zero point of 6 (code 7): 6, 6, 2 and 0
  attrs::QuantizeLinearT a;
  a.output_dtype = static_cast<uint8_t>(DType::kF4E2M1);
  OpTest t = quantize(a);
  t.input<float>({4}, {0, 2, -8, -12}).input<float>({}, {2}).input(TestTensor{{DType::kF4E2M1, {}}, {0x07}, {}});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().bytes, (std::vector<uint8_t>{0x77, 0x04}));
}

// float6e2m3 counts in eighths below 2, in quarters below 4, in halves up to 7.5; float6e3m2 is coarser from 0.5 on,
// and reaches 28. With the zero point 2 (code 16 of both) the sums are 3, 4.5, -1.125 and -9: the last is too far for
// float6e2m3, and the last three are ties in float6e3m2, which go to 4, -1 and -8.
TEST(QuantizeLinear, Float6AddsItsZeroPoint) {
  const auto codes = [](DType type) {
    attrs::QuantizeLinearT a;
    a.output_dtype = static_cast<uint8_t>(type);
    OpTest t = quantize(a);
    t.input<float>({4}, {2, 5, -6.25f, -22}).input<float>({}, {2}).input(coded(type, {}, {16}));
    EXPECT_EQ(t.run(), Status::kOk) << t.message();
    return t.y().bytes;
  };
  EXPECT_EQ(codes(DType::kF6E2M3), (std::vector<uint8_t>{0x14, 0x19, 0x29, 0x3F}));
  EXPECT_EQ(codes(DType::kF6E3M2), (std::vector<uint8_t>{0x12, 0x14, 0x2C, 0x38}));
}

TEST(DequantizeLinear, Float6SubtractsItsZeroPoint) {  // 3, 4.5, -1.125, -7.5 less 2; 3, 4, -1, -28 less 2
  OpTest t = dequantize();
  t.input(coded(DType::kF6E2M3, {4}, {0x14, 0x19, 0x29, 0x3F})).input<float>({}, {2});
  t.input(coded(DType::kF6E2M3, {}, {16}));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{2, 5, -6.25f, -19}));
  OpTest u = dequantize();
  u.input(coded(DType::kF6E3M2, {4}, {0x12, 0x14, 0x2C, 0x3F})).input<float>({}, {2});
  u.input(coded(DType::kF6E3M2, {}, {16}));
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_EQ(u.y().as<float>(), (std::vector<float>{2, 4, -6, -60}));
}

TEST(QuantizeLinear, DivisionRoundsToThePrecision) {  // 0.5 + 2^-12 is 0.5 in float16, which rounds to 0 and not to 1
  attrs::QuantizeLinearT a;
  a.precision = static_cast<uint8_t>(DType::kF16);
  OpTest t = quantize(a);
  t.input<float>({1}, {0.500244140625f}).input<float>({}, {1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().bytes[0], 0);
  OpTest u = quantize();
  u.input<float>({1}, {0.500244140625f}).input<float>({}, {1});
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_EQ(u.y().bytes[0], 1);
}

TEST(DequantizeLinear, OnnxExample) {  // ONNX "DequantizeLinear", examples dequantizelinear and dequantizelinear_axis
  OpTest t = dequantize();
  t.input<uint8_t>({4}, {0, 3, 128, 255}).input<float>({}, {2}).input<uint8_t>({}, {128});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{-256, -250, 0, 254}));
  OpTest u = dequantize();
  u.input<uint8_t>({1, 3, 2}, {3, 89, 5, 24, 245, 99}).input<float>({3}, {2, 4, 5}).input<uint8_t>({3}, {84, 24, 196});
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_EQ(u.y().as<float>(), (std::vector<float>{-162, 10, -76, 0, 245, -485}));
}

TEST(DequantizeLinear, FourAndTwoBits) {
  OpTest t = dequantize();
  t.input(coded(DType::kI4, {5}, {0x10, 0x87, 0x0C})).input<float>({}, {2}).input(coded(DType::kI4, {}, {1}));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{-2, 0, 12, -18, -10}));  // ONNX example dequantizelinear_int4
  OpTest u = dequantize();
  u.input(coded(DType::kU2, {4}, {0xE4})).input<float>({}, {3});
  ASSERT_EQ(u.run(), Status::kOk) << u.message();
  EXPECT_EQ(u.y().as<float>(), (std::vector<float>{0, 3, 6, 9}));
}

TEST(DequantizeLinear, Float8AndPowersOfTwo) {
  OpTest t = dequantize();
  t.input(coded(DType::kF8E5M2, {3}, {0x00, 0x38, 0xC4})).input(coded(DType::kF8E8M0, {}, {128}));
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{0, 1, -8}));
}

TEST(DequantizeLinear, Int32InPlace) {  // a bias
  OpTest t = dequantize();
  t.input<int32_t>({2}, {-4, 1000}).input<float>({}, {0.5f}).in_place();
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<float>(), (std::vector<float>{-2, 500}));
}

TEST(DequantizeLinear, HalfOutput) {
  attrs::DequantizeLinearT a;
  a.output_dtype = static_cast<uint8_t>(DType::kF16);
  OpTest t = dequantize(a);
  t.input<int8_t>({1}, {3}).input<float>({}, {0.5f});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(static_cast<float>(t.y().as<F16>()[0]), 1.5f);
}

TEST(QuantizeLinear, Refusals) {
  OpTest length = quantize();
  length.input<float>({1, 3}, {1, 2, 3}).input<float>({2}, {1, 1});
  EXPECT_EQ(length.run(), Status::kInvalidModel);
  OpTest zero = dequantize();
  zero.input<int8_t>({1}, {1}).input<float>({}, {1}).input<uint8_t>({}, {1});
  EXPECT_EQ(zero.run(), Status::kInvalidModel);
  attrs::QuantizeLinearT a;
  a.block_size = 2;
  OpTest block = quantize(a);
  block.input<float>({1, 3}, {1, 2, 3}).input<float>({1, 1}, {1});
  EXPECT_EQ(block.run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::quantize_test
