#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::cast_test {
namespace {

std::vector<uint8_t> to(DType t, bool saturate = true, attrs::RoundMode mode = attrs::RoundMode::Up) {
  attrs::CastT a;
  a.to = static_cast<uint8_t>(t), a.saturate = saturate, a.round_mode = mode;
  return pack<attrs::Cast>(a);
}

template <class T>
TestTensor cast(const std::vector<T>& x, DType t, bool saturate = true) {
  OpTest op(Op::kCast, to(t, saturate));
  op.input<T>({static_cast<int64_t>(x.size())}, x);
  EXPECT_EQ(op.run(), Status::kOk) << op.message();
  EXPECT_EQ(op.y().type.dtype, t);
  return op.y();
}
TestTensor cast(const TestTensor& x, DType t) {
  OpTest op(Op::kCast, to(t));
  op.input(x);
  EXPECT_EQ(op.run(), Status::kOk) << op.message();
  return op.y();
}

// Small integers go through any chain of two types and come back, over more elements than the kernel's buffer holds.
TEST(Cast, SmallIntegersSurviveEveryPair) {
  const DType all[] = {DType::kF32,    DType::kU8,       DType::kI8,         DType::kU16,    DType::kI16,
                       DType::kI32,    DType::kI64,      DType::kF16,        DType::kF64,    DType::kU32,
                       DType::kU64,    DType::kBF16,     DType::kU4,         DType::kI4,     DType::kU2,
                       DType::kBool,   DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ,
                       DType::kF4E2M1, DType::kF6E2M3,   DType::kF6E3M2};
  for (DType a : all) {
    for (DType b : all) {
      const int top = a == DType::kBool || b == DType::kBool ? 1 : 3;
      std::vector<int64_t> x;
      for (int i = 0; i < 131; ++i) x.push_back(i % (top + 1));
      const TestTensor y = cast(cast(cast(x, a), b), DType::kI64);
      ASSERT_EQ(y.as<int64_t>(), x) << dtype_name(a) << " " << dtype_name(b);
    }
  }
}

TEST(Cast, FloatsToIntegersGoTowardsZero) {
  const std::vector<float> x = {-1.9f, 1.9f, 300, NAN, 1e30f, -1e30f};
  EXPECT_EQ(cast(x, DType::kI64).as<int64_t>(), (std::vector<int64_t>{-1, 1, 300, 0, INT64_MAX, INT64_MIN}));
  EXPECT_EQ(cast(x, DType::kU8).as<uint8_t>()[2], 44);  // the low bits
  EXPECT_EQ(cast<double>({1.8e19, 2e19, -1}, DType::kU64).as<uint64_t>(),
            (std::vector<uint64_t>{18000000000000000000u, UINT64_MAX, UINT64_MAX}));
}

TEST(Cast, IntegersKeepTheLowBits) {  // ONNX "Cast": 200 (int16) -> -56 (int8)
  EXPECT_EQ(cast<int16_t>({200}, DType::kI8).as<int8_t>()[0], -56);
  // ONNX cast_FLOAT_to_INT4: -9 -> 7, 8 -> -8
  EXPECT_EQ(cast(cast<float>({-9, 8}, DType::kI4), DType::kI8).as<int8_t>(), (std::vector<int8_t>{7, -8}));
}

TEST(Cast, ToBool) {
  EXPECT_EQ(cast<float>({0, -0.0f, NAN, 0.1f}, DType::kBool).bytes, (std::vector<uint8_t>{0, 0, 1, 1}));
  EXPECT_EQ(cast<int64_t>({0, 1ll << 40}, DType::kBool).bytes, (std::vector<uint8_t>{0, 1}));
}

TEST(Cast, RoundsOnce) {
  EXPECT_EQ(cast<int64_t>({(1ll << 24) + 1}, DType::kF32).as<float>()[0], 16777216.0f);
  EXPECT_EQ(cast<uint64_t>({UINT64_MAX}, DType::kF32).as<float>()[0], 18446744073709551616.0f);
  // 1 + 2^-11 + 2^-40: float32 on the way would drop the last term and leave a tie.
  EXPECT_EQ(cast<double>({1 + 0x1p-11 + 0x1p-40}, DType::kF16).as<uint16_t>()[0], 0x3C01);
  EXPECT_EQ(cast<double>({65520, 65519.99, 1e300}, DType::kF16).as<uint16_t>(),
            (std::vector<uint16_t>{0x7C00, 0x7BFF, 0x7C00}));
}

TEST(Cast, Float8) {  // ONNX cast_FLOAT_to_FLOAT8E5M2 and cast_no_saturate_FLOAT_to_FLOAT8E5M2
  const std::vector<float> x = {0.47892547f, 0.81910545f, 1e6f, 1e-8f, INFINITY, -INFINITY, -1e-8f};
  EXPECT_EQ(cast(x, DType::kF8E5M2).bytes, (std::vector<uint8_t>{0x38, 0x3B, 0x7B, 0, 0x7B, 0xFB, 0x80}));
  EXPECT_EQ(cast(x, DType::kF8E5M2, false).bytes, (std::vector<uint8_t>{0x38, 0x3B, 0x7C, 0, 0x7C, 0xFC, 0x80}));
}

TEST(Cast, Packed) {
  const TestTensor y = cast<float>({1, 2, 3}, DType::kI4);  // low half first, padding zero
  EXPECT_EQ(y.bytes, (std::vector<uint8_t>{0x21, 0x03}));
  EXPECT_EQ(cast<uint8_t>({1, 2, 3, 0, 1}, DType::kU2).bytes, (std::vector<uint8_t>{0x39, 0x01}));
}

TEST(Cast, InPlaceBetweenPackedTypes) {  // two elements are one byte in either type
  TestTensor x;
  x.type = {DType::kU2, make_shape({2})};
  x.bytes = {0x0B};
  OpTest t(Op::kCast, to(DType::kU4));
  ASSERT_EQ(t.input(x).in_place().run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().bytes, (std::vector<uint8_t>{0x23}));
}

TEST(Cast, Strings) {
  OpTest t(Op::kCast, to(DType::kF32));
  t.input_strings({5}, {"0.47892547", "1e-5", "INF", "-inf", "NaN"});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  const auto y = t.y().as<float>();
  EXPECT_EQ(y[0], 0.47892547f);
  EXPECT_EQ(y[1], 1e-5f);
  EXPECT_EQ(y[2], INFINITY);
  EXPECT_EQ(y[3], -INFINITY);
  EXPECT_TRUE(std::isnan(y[4]));
  OpTest integers(Op::kCast, to(DType::kI64));
  integers.input_strings({3}, {"9007199254740993", "100.5", "-7"});
  ASSERT_EQ(integers.run(), Status::kOk) << integers.message();
  EXPECT_EQ(integers.y().as<int64_t>(), (std::vector<int64_t>{9007199254740993, 100, -7}));
  OpTest text(Op::kCast, to(DType::kF32));
  EXPECT_EQ(text.input_strings({2}, {"1", "Hello World!"}).run(), Status::kInvalidArgument);
  EXPECT_STREQ(text.message(), "element 1 of the input is text that is not a number");
}

TEST(Cast, Refuses) {
  OpTest none(Op::kCast, to(DType::kNone));
  EXPECT_EQ(none.input<float>({1}, {1}).run(), Status::kInvalidModel);
  OpTest complex(Op::kCast, to(DType::kC64));
  EXPECT_EQ(complex.input<float>({1}, {1}).run(), Status::kInvalidModel);
}

TEST(Cast, NumbersToStrings) {  // as Python's repr() of the number of that type
  using Texts = std::vector<std::string>;
  EXPECT_EQ(
      cast<float>({0.1f, 3, -0.0f, 1e16f, 1e-5f, 0x1p-149f, 3.4028235e38f, NAN, INFINITY, -INFINITY, 16777216},
                  DType::kString)
          .strings,
      (Texts{"0.1", "3.0", "-0.0", "1e+16", "1e-05", "1e-45", "3.4028235e+38", "NaN", "INF", "-INF", "16777216.0"}));
  EXPECT_EQ(
      cast<double>({0.1, 5e-324, 1.7976931348623157e308, -2.2250738585072014e-308, 123456789.125, 9007199254740992.0},
                   DType::kString)
          .strings,
      (Texts{"0.1", "5e-324", "1.7976931348623157e+308", "-2.2250738585072014e-308", "123456789.125",
             "9007199254740992.0"}));
  EXPECT_EQ(cast<int64_t>({INT64_MIN, 0, INT64_MAX}, DType::kString).strings,
            (Texts{"-9223372036854775808", "0", "9223372036854775807"}));
  EXPECT_EQ(cast<uint64_t>({UINT64_MAX}, DType::kString).strings, (Texts{"18446744073709551615"}));
  EXPECT_EQ(cast(cast<float>({0, 2}, DType::kBool), DType::kString).strings, (Texts{"0", "1"}));
  EXPECT_EQ(cast(cast<float>({0.1f, 65504}, DType::kF16), DType::kString).strings, (Texts{"0.1", "65500.0"}));
}

TEST(Cast, TextReadsBackAsTheSameBits) {
  uint64_t bits = 1;
  std::vector<double> x;
  for (int i = 0; i < 3000; ++i) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    double v = 0;
    std::memcpy(&v, &bits, sizeof(v));
    if (std::isfinite(v)) x.push_back(v);
  }
  const TestTensor y = cast(cast(x, DType::kString), DType::kF64);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y.as<double>()[i], x[i]);
}

TEST(BitCast, KeepsTheBits) {
  attrs::BitCastT a;
  a.to = static_cast<uint8_t>(DType::kI32);
  OpTest t(Op::kBitCast, pack<attrs::BitCast>(a));
  ASSERT_EQ(t.input<float>({2}, {1, -0.0f}).run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<int32_t>(), (std::vector<int32_t>{0x3F800000, INT32_MIN}));
  OpTest width(Op::kBitCast, pack<attrs::BitCast>(a));
  EXPECT_EQ(width.input<double>({1}, {1}).run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::cast_test
