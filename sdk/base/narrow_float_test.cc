#include "sdk/base/narrow_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace vireo::narrow_float_test {
namespace {

struct Format {
  DType type;
  double largest, smallest;  // OFP8 table 1, MX 1.0 tables 1 to 5; FNUZ: arXiv:2206.02915 table 1
};
class Narrow : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, Narrow,
                         testing::Values(Format{DType::kF8E4M3FN, 448, 0x1p-9},
                                         Format{DType::kF8E4M3FNUZ, 240, 0x1p-10},
                                         Format{DType::kF8E5M2, 57344, 0x1p-16},
                                         Format{DType::kF8E5M2FNUZ, 57344, 0x1p-17}, Format{DType::kF4E2M1, 6, 0.5},
                                         Format{DType::kF6E2M3, 7.5, 0.125}, Format{DType::kF6E3M2, 28, 0.0625}));

int codes(const NarrowFloat& f) { return 2 << (f.exponent_bits + f.mantissa_bits); }

TEST_P(Narrow, EveryCodeComesBack) {
  const NarrowFloat& f = *narrow_float(GetParam().type);
  double largest = 0, smallest = 1e9;
  for (int c = 0; c < codes(f); ++c) {
    const float v = narrow_to_f32(f, static_cast<uint8_t>(c));
    const uint8_t back = f64_to_narrow(f, static_cast<double>(v), /*saturate=*/false);
    if (std::isnan(v)) {
      EXPECT_TRUE(std::isnan(narrow_to_f32(f, back))) << c;
      continue;
    }
    EXPECT_EQ(back, c);
    if (std::isinf(v)) continue;
    largest = std::max(largest, static_cast<double>(v));
    if (v > 0) smallest = std::min(smallest, static_cast<double>(v));
  }
  EXPECT_EQ(largest, GetParam().largest);
  EXPECT_EQ(smallest, GetParam().smallest);
}

// Every number between two neighbours goes to the nearer one, a tie to the one with an even code.
TEST_P(Narrow, RoundsToNearestEven) {
  const NarrowFloat& f = *narrow_float(GetParam().type);
  for (int c = 0; c < f.max_code; ++c) {
    const double low = static_cast<double>(narrow_to_f32(f, static_cast<uint8_t>(c)));
    const double high = static_cast<double>(narrow_to_f32(f, static_cast<uint8_t>(c + 1)));
    const double middle = (low + high) / 2;
    EXPECT_EQ(f64_to_narrow(f, middle, true), c % 2 == 0 ? c : c + 1);
    EXPECT_EQ(f64_to_narrow(f, std::nextafter(middle, 0), true), c);
    EXPECT_EQ(f64_to_narrow(f, std::nextafter(middle, 1e9), true), c + 1);
  }
}

TEST_P(Narrow, OutOfRange) {
  const NarrowFloat& f = *narrow_float(GetParam().type);
  const double largest = GetParam().largest;
  for (double v : {largest * 2, 1e300, static_cast<double>(INFINITY)}) {
    EXPECT_EQ(static_cast<double>(narrow_to_f32(f, f64_to_narrow(f, v, true))), largest) << v;
    EXPECT_EQ(static_cast<double>(narrow_to_f32(f, f64_to_narrow(f, -v, true))), -largest) << v;
    const float cut = narrow_to_f32(f, f64_to_narrow(f, v, false));
    if (f.nan_code == 0) {
      EXPECT_EQ(static_cast<double>(cut), largest);
    } else if (f.infinity_code != 0) {
      EXPECT_EQ(cut, INFINITY);
    } else {
      EXPECT_TRUE(std::isnan(cut));
    }
  }
  EXPECT_EQ(narrow_to_f32(f, f64_to_narrow(f, 1e-300, true)), 0.0f);
  EXPECT_EQ(std::signbit(narrow_to_f32(f, f64_to_narrow(f, -0.0, true))), f.negative_zero);
}

TEST(E8M0, EveryCodeComesBackInEveryMode) {
  for (int c = 0; c < 255; ++c) {
    for (PowerRounding r : {PowerRounding::kUp, PowerRounding::kDown, PowerRounding::kNearest}) {
      EXPECT_EQ(f64_to_e8m0(e8m0_to_f64(static_cast<uint8_t>(c)), r, true), c);
    }
  }
  EXPECT_TRUE(std::isnan(e8m0_to_f64(255)));
}

TEST(E8M0, OnnxTable) {  // ONNX opset 28 "Cast", table of float8e8m0
  EXPECT_EQ(f64_to_e8m0(0, PowerRounding::kUp, true), 0);
  EXPECT_EQ(f64_to_e8m0(0, PowerRounding::kNearest, false), 255);
  EXPECT_EQ(f64_to_e8m0(INFINITY, PowerRounding::kUp, true), 254);
  EXPECT_EQ(f64_to_e8m0(INFINITY, PowerRounding::kNearest, false), 255);
  EXPECT_EQ(f64_to_e8m0(NAN, PowerRounding::kUp, true), 255);
  EXPECT_EQ(f64_to_e8m0(1.1, PowerRounding::kUp, true), 128);
  EXPECT_EQ(f64_to_e8m0(1.1, PowerRounding::kDown, true), 127);
  EXPECT_EQ(f64_to_e8m0(1.5, PowerRounding::kNearest, true), 128);
  EXPECT_EQ(f64_to_e8m0(1.4, PowerRounding::kNearest, true), 127);
}

// Float64 to 16 bits by way of round to odd is one rounding: a tie of the 16-bit type moved by the smallest step of
// float64 goes to its own side, where float32 in between would have put it back on the tie.
TEST(RoundToOdd, BreaksTiesAsOneRounding) {
  for (int c = 0; c < 0x7BFF; ++c) {
    const double low = static_cast<double>(f16_to_f32(static_cast<uint16_t>(c)));
    const double high = static_cast<double>(f16_to_f32(static_cast<uint16_t>(c + 1)));
    const double middle = (low + high) / 2;
    ASSERT_EQ(f32_to_f16(f64_to_f32_odd(middle)), c % 2 == 0 ? c : c + 1);
    ASSERT_EQ(f32_to_f16(f64_to_f32_odd(std::nextafter(middle, 0))), c);
    ASSERT_EQ(f32_to_f16(f64_to_f32_odd(std::nextafter(middle, 1e9))), c + 1);
  }
}

}  // namespace
}  // namespace vireo::narrow_float_test
