#include "c_api/cli/array.h"

#include <gtest/gtest.h>
#include <math.h>

#include "c_api/cli/failure.h"

namespace vireo::cli::array_test {
namespace {

Array bytes(vireo_dtype dtype, std::vector<uint8_t> data, int64_t count) {
  Array a;
  a.dtype = dtype;
  a.dims = {count};
  a.bytes = std::move(data);
  return a;
}

// Values from the tables of ONNX's "Float8" and "Float4" technical notes, and of the OCP Microscaling Formats, 5.3.2.
TEST(Array, DecodesSmallFloats) {
  EXPECT_EQ(real_at(bytes(VIREO_FLOAT8E4M3FN, {0x7E}, 1), 0), 448);
  EXPECT_TRUE(isnan(real_at(bytes(VIREO_FLOAT8E4M3FN, {0x7F}, 1), 0)));
  EXPECT_EQ(real_at(bytes(VIREO_FLOAT8E4M3FNUZ, {0x7F}, 1), 0), 240);
  EXPECT_TRUE(isnan(real_at(bytes(VIREO_FLOAT8E4M3FNUZ, {0x80}, 1), 0)));
  EXPECT_EQ(real_at(bytes(VIREO_FLOAT8E5M2, {0x7B}, 1), 0), 57344);
  EXPECT_TRUE(isinf(real_at(bytes(VIREO_FLOAT8E5M2, {0x7C}, 1), 0)));
  EXPECT_EQ(real_at(bytes(VIREO_FLOAT8E5M2FNUZ, {0x7F}, 1), 0), 57344);
  EXPECT_EQ(real_at(bytes(VIREO_FLOAT8E8M0, {0x80}, 1), 0), 2);
  const Array f4 = bytes(VIREO_FLOAT4E2M1, {0x71, 0xF9}, 4);  // 0.5, 6, -0.5, -6
  EXPECT_EQ(real_at(f4, 0), 0.5);
  EXPECT_EQ(real_at(f4, 1), 6);
  EXPECT_EQ(real_at(f4, 2), -0.5);
  EXPECT_EQ(real_at(f4, 3), -6);
  const Array e2m3 = bytes(VIREO_FLOAT6E2M3, {0x01, 0x08, 0x1F, 0x3F}, 4);  // the smallest, 1, and the largest two
  EXPECT_EQ(real_at(e2m3, 0), 0.125);
  EXPECT_EQ(real_at(e2m3, 1), 1);
  EXPECT_EQ(real_at(e2m3, 2), 7.5);
  EXPECT_EQ(real_at(e2m3, 3), -7.5);
  const Array e3m2 = bytes(VIREO_FLOAT6E3M2, {0x01, 0x0C, 0x1F, 0x3F}, 4);
  EXPECT_EQ(real_at(e3m2, 0), 0.0625);
  EXPECT_EQ(real_at(e3m2, 1), 1);
  EXPECT_EQ(real_at(e3m2, 2), 28);
  EXPECT_EQ(real_at(e3m2, 3), -28);
}

TEST(Array, UnpacksIntegers) {
  EXPECT_EQ(real_at(bytes(VIREO_INT4, {0x8F}, 2), 0), -1);
  EXPECT_EQ(real_at(bytes(VIREO_INT4, {0x8F}, 2), 1), -8);
  EXPECT_EQ(real_at(bytes(VIREO_INT2, {0xE4}, 4), 2), -2);
  EXPECT_EQ(real_at(bytes(VIREO_UINT2, {0xE4}, 4), 3), 3);
}

// Every float16 that is a number decodes to a double that encodes to it again.
TEST(Array, EveryHalfComesBack) {
  for (uint32_t code = 0; code < 65536; ++code) {
    Array a = bytes(VIREO_FLOAT16, {static_cast<uint8_t>(code & 255), static_cast<uint8_t>(code >> 8)}, 1);
    const double value = real_at(a, 0);
    if (isnan(value)) continue;
    Array b = make_array(VIREO_FLOAT16, {1});
    set_real(&b, 0, value);
    ASSERT_EQ(a.bytes, b.bytes) << code;
  }
}

TEST(Array, HalfRoundsToNearestEven) {
  const auto half = [](double v) {
    Array a = make_array(VIREO_FLOAT16, {1});
    set_real(&a, 0, v);
    return real_at(a, 0);
  };
  EXPECT_EQ(half(2049), 2048);  // between 2048 and 2050: the even one
  EXPECT_EQ(half(2051), 2052);
  EXPECT_EQ(half(65519), 65504);
  EXPECT_TRUE(isinf(half(65520)));
  EXPECT_EQ(half(ldexp(1.0, -25)), 0);  // half of the smallest: the even one
  EXPECT_EQ(half(ldexp(1.5, -25)), ldexp(1.0, -24));
}

TEST(Array, IntegersSaturate) {
  Array a = make_array(VIREO_INT8, {3});
  set_real(&a, 0, 1000);
  set_real(&a, 1, -1000);
  set_real(&a, 2, 2.5);
  EXPECT_EQ(real_at(a, 0), 127);
  EXPECT_EQ(real_at(a, 1), -128);
  EXPECT_EQ(real_at(a, 2), 2);
}

TEST(Array, TakesEveryStep) {
  Array a = make_array(VIREO_INT32, {2, 5});
  for (int i = 0; i < 10; ++i) set_real(&a, i, i);
  const Array b = take_every(a, 3);
  ASSERT_EQ(b.dims, std::vector<int64_t>{4});
  EXPECT_EQ(real_at(b, 3), 9);
}

TEST(Array, ImpossibleShapesAreRefused) {
  EXPECT_THROW(make_array(VIREO_FLOAT32, {int64_t{1} << 62, 8}), Failure);
  EXPECT_THROW(make_array(VIREO_FLOAT32, {-1}), Failure);
  EXPECT_EQ(make_array(VIREO_FLOAT32, {0, 5}).bytes.size(), 0u);
}

TEST(Array, ViewOfAnEmptyTensorHasAnAddress) {
  std::vector<vireo_string> refs;
  EXPECT_NE(view_of(make_array(VIREO_FLOAT32, {0}), &refs).data, nullptr);
  EXPECT_NE(view_of(make_array(VIREO_STRING, {0}), &refs).data, nullptr);
}

TEST(Array, NothingIsTheSameInATypeWithoutElements) {
  Array a;
  a.dtype = VIREO_NONE;
  EXPECT_FALSE(same_bits(a, 0, a, 0));
}

}  // namespace
}  // namespace vireo::cli::array_test
