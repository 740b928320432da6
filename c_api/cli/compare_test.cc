#include "c_api/cli/compare.h"

#include <gtest/gtest.h>
#include <math.h>

namespace vireo::cli::compare_test {
namespace {

Array floats(const std::vector<double>& values, vireo_dtype dtype = VIREO_FLOAT32) {
  Array a = make_array(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) set_real(&a, static_cast<int64_t>(i), values[i]);
  return a;
}

TEST(Compare, LimitIsAtolOfTheLargestPlusRtolOfEach) {
  const Tolerance t{1e-3, 1e-2, false};
  // Largest is 100: 0.1 for all, and 0.01 * 10 = 0.1 more for the 10.
  EXPECT_TRUE(compare(floats({100, 10.19}), floats({100, 10}), t).pass);
  EXPECT_FALSE(compare(floats({100, 10.21}), floats({100, 10}), t).pass);
  EXPECT_TRUE(compare(floats({100, 0.09}), floats({100, 0}), t).pass);
}

TEST(Compare, NamesTheLeastAtolThatPasses) {
  const Tolerance t{1e-3, 1e-2, false};
  const Difference d = compare(floats({100, 14, 0}), floats({100, 10, 1}), t);  // 4 - 0.1 and 1 - 0.01, of 100
  EXPECT_FALSE(d.pass);
  EXPECT_NEAR(d.atol, 0.039, 1e-12);
  EXPECT_TRUE(compare(floats({100, 14, 0}), floats({100, 10, 1}), {0.0391, 1e-2, false}).pass);
  EXPECT_EQ(compare(floats({100, NAN}), floats({100, 10}), t).atol, INFINITY);
  EXPECT_EQ(compare(floats({1}), floats({0}), t).atol, INFINITY);  // no share of 0 is more than 0
}

TEST(Compare, OnnxMeansAbsoluteTolerances) {
  const Tolerance t{1e-3, 0, true};
  EXPECT_FALSE(compare(floats({100, 0.05}), floats({100, 0}), t).pass);
  EXPECT_TRUE(compare(floats({100, 0.0005}), floats({100, 0}), t).pass);
}

TEST(Compare, DefaultsFollowTheType) {
  EXPECT_FALSE(compare(floats({1.001}), floats({1}), {}).pass);
  EXPECT_TRUE(compare(floats({1.005}, VIREO_FLOAT16), floats({1}, VIREO_FLOAT16), {}).pass);
}

TEST(Compare, NaNAndInfinityStandAtTheSamePlaces) {
  const double nan = NAN, inf = INFINITY;
  EXPECT_TRUE(compare(floats({nan, inf, -inf, 1}), floats({nan, inf, -inf, 1}), {}).pass);
  EXPECT_FALSE(compare(floats({nan}), floats({1}), {1e9, 0, true}).pass);
  EXPECT_FALSE(compare(floats({1}), floats({nan}), {1e9, 0, true}).pass);
  EXPECT_FALSE(compare(floats({inf}), floats({-inf}), {}).pass);
  EXPECT_FALSE(compare(floats({inf}), floats({3e38}), {1e9, 0, true}).pass);
  // The scale is over finite values only: an infinity does not make everything else pass.
  EXPECT_FALSE(compare(floats({inf, 2}), floats({inf, 1}), {}).pass);
}

TEST(Compare, IntegersBooleansAndStringsMustBeEqual) {
  Array a = make_array(VIREO_INT64, {1}), b = a;
  a.bytes = {1, 0, 0, 0, 0, 0, 32, 0};  // 2^53 + 1: no double is that exact
  b.bytes = {0, 0, 0, 0, 0, 0, 32, 0};
  EXPECT_FALSE(compare(a, b, {1, 1, false}).pass);
  Array s = make_array(VIREO_STRING, {1}), t = s;
  s.strings[0] = "x";
  EXPECT_FALSE(compare(s, t, {1, 1, false}).pass);
  EXPECT_TRUE(compare(s, s, {}).pass);
}

TEST(Compare, ShapeAndTypeMustAgree) {
  Array a = floats({1, 2}), b = a;
  b.dims = {2, 1};
  EXPECT_FALSE(compare(a, b, {}).pass);
  EXPECT_NE(compare(a, b, {}).reason.find("shape"), std::string::npos);
  EXPECT_FALSE(compare(a, floats({1, 2}, VIREO_FLOAT64), {}).pass);
}

TEST(Compare, FiguresAreWhatTheySay) {
  const Difference d = compare(floats({3, 4.5}), floats({3, 4}), {});
  EXPECT_DOUBLE_EQ(d.max_abs, 0.5);
  EXPECT_DOUBLE_EQ(d.max_rel, 0.125);
  EXPECT_NEAR(d.sqnr_db, 10 * log10(25 / 0.25), 1e-9);
  EXPECT_NEAR(d.cosine, (9 + 18) / (5 * sqrt(9 + 20.25)), 1e-12);
  const Difference same = compare(floats({3, 4}), floats({3, 4}), {});
  EXPECT_EQ(same.sqnr_db, 300);
  EXPECT_DOUBLE_EQ(same.cosine, 1);
}

}  // namespace
}  // namespace vireo::cli::compare_test
