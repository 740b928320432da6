#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "sdk/base/dtype.h"
#include "sdk/base/error.h"
#include "sdk/base/half.h"
#include "sdk/base/shape.h"

namespace vireo::base_test {
namespace {

TEST(DType, BytesOfPackedTypesRoundUp) {
  EXPECT_EQ(dtype_bytes(DType::kI4, 3), 2);
  EXPECT_EQ(dtype_bytes(DType::kU2, 5), 2);
  EXPECT_EQ(dtype_bytes(DType::kF32, INT64_MAX), -1);
  EXPECT_EQ(dtype_bytes(DType::kNone, 1), -1);
}

TEST(Shape, CountRefusesOverflowEvenBesideZero) {
  Shape s;
  s.rank = 3;
  s[0] = s[1] = s[2] = INT64_MAX / 2;
  EXPECT_EQ(element_count(s), -1);
  s[2] = 0;
  s[1] = 1;
  EXPECT_EQ(element_count(s), 0);
  s[1] = handle_of(7);
  EXPECT_EQ(element_count(s), -1);
}

TEST(Half, RoundTripsEveryFiniteAndRoundsToEven) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const float f = f16_to_f32(static_cast<uint16_t>(h));
    if (!std::isnan(f)) {
      EXPECT_EQ(f32_to_f16(f), h);
    }
    const float b = bf16_to_f32(static_cast<uint16_t>(h));
    if (!std::isnan(b)) {
      EXPECT_EQ(f32_to_bf16(b), h);
    }
  }
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7C00);
  EXPECT_EQ(f32_to_f16(1.0f + 1.0f / 2048), 0x3C00);  // half way: to even
  EXPECT_EQ(f32_to_f16(1.0f + 3.0f / 2048), 0x3C02);
  EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(NAN))));
}

TEST(Error, FormatsOnceAndCuts) {
  Error e;
  Shape s;
  s.rank = 2;
  s[0] = 3;
  s[1] = handle_of(1);
  EXPECT_EQ(fail(&e, Status::kInvalidModel, "axis {} of {} in {}", -4, "x", s), Status::kInvalidModel);
  EXPECT_STREQ(e.message, "axis -4 of x in [3,?]");
  EXPECT_EQ(fail(&e, Status::kUnsupported, "later"), Status::kUnsupported);
  EXPECT_EQ(e.status, Status::kInvalidModel);
  EXPECT_STREQ(e.message, "axis -4 of x in [3,?]");
}

}  // namespace
}  // namespace vireo::base_test
