#include "converter/check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace vireo::check_test {
namespace {

HostTensor floats(const std::vector<float>& values) {
  HostTensor t;
  t.dtype = DType::kF32;
  t.dims = {static_cast<int64_t>(values.size())};
  t.bytes.resize(values.size() * sizeof(float));
  std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
  return t;
}

TEST(Difference, InfinitiesStandAtTheSamePlaces) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const auto within = [](float got, float wanted) {
    bool good = false;
    const double worst = difference(floats({1, got}), floats({1, wanted}), 1e-5, 1e-4, &good);
    EXPECT_EQ(good, worst < 1e-3);
    return good;
  };
  EXPECT_TRUE(within(inf, inf));
  EXPECT_TRUE(within(nan, nan));
  EXPECT_TRUE(within(5.0001f, 5));
  for (const float other : {-inf, 5.0f, nan}) {
    EXPECT_FALSE(within(other, inf)) << other;
    EXPECT_FALSE(within(inf, other)) << other;
  }
  EXPECT_FALSE(within(5, nan));
}

TEST(Difference, CodesMayBeOneApart) {
  const auto codes = [](const std::vector<uint8_t>& values) {
    HostTensor t;
    t.dtype = DType::kU8;
    t.dims = {static_cast<int64_t>(values.size())};
    t.bytes = values;
    return t;
  };
  bool within = false;
  EXPECT_EQ(code_difference(codes({0, 100, 201}), codes({0, 100, 200}), 1e-4, &within), 1.0 / 200);
  EXPECT_TRUE(within);
  code_difference(codes({0, 100, 202}), codes({0, 100, 200}), 1e-4, &within);
  EXPECT_FALSE(within);
  code_difference(codes({0, 100, 210}), codes({0, 100, 200}), 0.1, &within);
  EXPECT_TRUE(within);
  EXPECT_TRUE(std::isinf(code_difference(codes({0}), codes({0, 1}), 1, &within)));
  EXPECT_FALSE(within);
}

}  // namespace
}  // namespace vireo::check_test
