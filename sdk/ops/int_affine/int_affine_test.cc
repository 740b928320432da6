// IntAffine against numbers worked out by hand, and what it refuses. The tuned kernel is held to the reference in
// delegates/cpu.
#include <gtest/gtest.h>

#include <cmath>

#include "sdk/ops/int_affine/int_affine_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::int_affine_test {
namespace {

attrs::IntAffineT codes_u8() {
  attrs::IntAffineT a;
  a.high = 255;
  a.output_dtype = static_cast<uint8_t>(DType::kU8);
  return a;
}

OpTest affine(const attrs::IntAffineT& a) { return OpTest(Op::kIntAffine, pack<attrs::IntAffine>(a)); }

TEST(IntAffine, TwoFactorsAChannel) {
  attrs::IntAffineT a = codes_u8();
  a.x_zero = 100;
  a.y_zero = 10;
  OpTest t = affine(a);
  t.input<uint8_t>({1, 2, 3}, {104, 94, 255, 105, 90, 0}).input<float>({2, 1}, {0.5f, 2});
  t.input<float>({2, 1}, {0.25f, -1});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  // 4 * 0.5 = 2; -6 * 0.25 = -1.5 -> -2; 155 * 0.5 = 77.5 -> 78; 5 * 2 = 10; -10 * -1 = 10; -100 * -1 = 100
  EXPECT_EQ(t.y().as<uint8_t>(), (std::vector<uint8_t>{12, 8, 88, 20, 20, 110}));
}

TEST(IntAffine, OffsetAndBoundsOfSignedCodes) {
  attrs::IntAffineT a;
  a.x_zero = -3;
  a.y_zero = 1;
  a.low = 0;
  a.high = 20;
  OpTest t = affine(a);
  t.input<int8_t>({2, 2}, {-3, 5, -128, 127}).input<float>({2}, {0.5f, 1}).absent().input<float>({2}, {0.5f, -2});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  // rne(0.5) = 0 -> 1; 8 - 2 = 6 -> 7; below low; above high
  EXPECT_EQ(t.y().as<int8_t>(), (std::vector<int8_t>{1, 7, 0, 20}));
}

TEST(IntAffine, FactorsOfAHostileFile) {
  attrs::IntAffineT a = codes_u8();
  a.low = 3;
  OpTest t = affine(a);
  t.input<uint8_t>({4}, {0, 1, 1, 1}).input<float>({4}, {INFINITY, INFINITY, -INFINITY, NAN});
  ASSERT_EQ(t.run(), Status::kOk) << t.message();
  EXPECT_EQ(t.y().as<uint8_t>(), (std::vector<uint8_t>{3, 255, 3, 3}));
}

TEST(IntAffine, Refusals) {
  const auto with = [](const attrs::IntAffineT& a) {
    OpTest t = affine(a);
    t.input<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6});
    return t;
  };
  const attrs::IntAffineT good = codes_u8();
  EXPECT_EQ(with(good).input<float>({3}, {1, 1, 1}).run(), Status::kOk);
  EXPECT_EQ(with(good).input<float>({}, {1}).run(), Status::kOk);
  EXPECT_EQ(with(good).input<float>({2}, {1, 1}).run(), Status::kInvalidModel);
  EXPECT_EQ(with(good).input<float>({2, 2, 3}, std::vector<float>(12, 1)).run(), Status::kInvalidModel);
  EXPECT_EQ(with(good).input<int32_t>({3}, {1, 1, 1}).run(), Status::kInvalidModel);
  EXPECT_EQ(with(good).input<float>({3}, {1, 1, 1}).input<float>({1}, {1}).run(), Status::kInvalidModel);
  EXPECT_EQ(with(good).input<float>({1}, {1}).absent().input<float>({3}, {1, 1, 1}).run(), Status::kInvalidModel);
  attrs::IntAffineT zero = good;
  zero.x_zero = -1;
  EXPECT_EQ(with(zero).input<float>({1}, {1}).run(), Status::kInvalidModel);
  attrs::IntAffineT type = good;
  type.output_dtype = static_cast<uint8_t>(DType::kI32);
  EXPECT_EQ(with(type).input<float>({1}, {1}).run(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::int_affine_test
