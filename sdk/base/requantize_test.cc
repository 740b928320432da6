#include "sdk/base/requantize.h"

#include <gtest/gtest.h>

#include <cmath>

namespace vireo::requantize_test {
namespace {

TEST(Requantize, RoundsHalfToEven) {
  const float v[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 0.49999997f, -3.7f, 1048575.5f};
  const int32_t wanted[] = {0, 2, 2, 0, -2, -2, 0, -4, 1048576};
  for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); ++i) EXPECT_EQ(round_half_even(v[i]), wanted[i]) << v[i];
}

TEST(Requantize, AgreesWithTheCLibrary) {  // quarters in the range of 16-bit outputs
  for (int32_t q = -4 * 131072; q <= 4 * 131072; q += 3) {
    const float v = static_cast<float>(q) / 4;
    ASSERT_EQ(round_half_even(v), static_cast<int32_t>(std::nearbyint(v))) << v;
  }
}

TEST(Requantize, ClampsAfterTheZeroPoint) {
  EXPECT_EQ(requantize(100, 1.0f, 100, -128, 127), 127);
  EXPECT_EQ(requantize(-100, 1.0f, -100, -128, 127), -128);
  EXPECT_EQ(requantize(27, 1.0f, 100, -128, 127), 127);
  EXPECT_EQ(requantize(26, 1.0f, 100, -128, 127), 126);
  EXPECT_EQ(requantize(3, 0.5f, 10, 0, 255), 12);  // 1.5 -> 2
  EXPECT_EQ(requantize(5, 0.5f, 10, 0, 255), 12);  // 2.5 -> 2
  EXPECT_EQ(requantize(-5, 0.5f, 10, 0, 255), 8);  // -2.5 -> -2
}

TEST(Requantize, ExtremesSaturate) {
  EXPECT_EQ(requantize(INT32_MAX, 1e30f, 0, -128, 127), 127);
  EXPECT_EQ(requantize(INT32_MIN, 1e30f, 0, 0, 65535), 0);
  EXPECT_EQ(requantize(INT32_MAX, 1e-30f, 7, 0, 255), 7);
  EXPECT_EQ(round_and_clamp(NAN, 3, -128, 127), -128);
}

// One float32 product: 16777217 is not a float32, its conversion rounds to 16777216.
TEST(Requantize, ConvertsBeforeItMultiplies) { EXPECT_EQ(requantize(16777217, 0x1p-20f, 0, -128, 127), 16); }

}  // namespace
}  // namespace vireo::requantize_test
