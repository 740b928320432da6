#include "sdk/base/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

namespace vireo::number_test {
namespace {

StringRef text_of(const std::string& s) { return {s.data(), s.size()}; }

TEST(ParseF64, AgreesWithTheCLibrary) {  // glibc's strtod rounds correctly
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string text = std::to_string(random() >> (random() % 64));
    if (i % 3 == 0) text.insert(random() % text.size(), ".");
    if (i % 2 == 0) text += "e" + std::to_string(static_cast<int>(random() % 700) - 360);
    double v = 0;
    ASSERT_TRUE(parse_f64(text_of(text), &v)) << text;
    EXPECT_EQ(v, std::strtod(text.c_str(), nullptr)) << text;
  }
}

TEST(ParseF64, ReadsBackEveryShortestAndExactForm) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = random();
    double want = 0, got = 0;
    std::memcpy(&want, &bits, sizeof(want));
    if (!std::isfinite(want)) continue;
    char text[64];
    std::snprintf(text, sizeof(text), "%.17g", want);
    ASSERT_TRUE(parse_f64(text_of(text), &got)) << text;
    EXPECT_EQ(got, want) << text;
  }
}

TEST(ParseF64, Edges) {
  double v = 0;
  for (const char* text :
       {"4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1.7976931348623157e308",
        "1.7976931348623159e308", "1e400", "1e-400", "0", "-0.0", "  3.14 ", "000000000000000000000.5",
        "9007199254740993", "0.000000000000000000000000000001", "2.2250738585072011e-308", "+7."}) {
    ASSERT_TRUE(parse_f64(text_of(text), &v)) << text;
    EXPECT_EQ(v, std::strtod(text, nullptr)) << text;
  }
  ASSERT_TRUE(parse_f64(text_of("-0"), &v));
  EXPECT_TRUE(std::signbit(v));
  for (const char* text : {"INF", "+inf", "Infinity"}) {
    ASSERT_TRUE(parse_f64(text_of(text), &v));
    EXPECT_EQ(v, INFINITY);
  }
  ASSERT_TRUE(parse_f64(text_of("-INF"), &v));
  EXPECT_EQ(v, -INFINITY);
  ASSERT_TRUE(parse_f64(text_of("NaN"), &v));
  EXPECT_TRUE(std::isnan(v));
}

TEST(ParseF64, RefusesText) {
  double v = 0;
  for (const char* text : {"", " ", "Hello World!", "1.2.3", "e5", "1e", "1e+", ".", "+", "infx", "12a", "0x10"}) {
    EXPECT_FALSE(parse_f64(text_of(text), &v)) << text;
  }
}

TEST(ParseI64, Limits) {
  int64_t v = 0;
  ASSERT_TRUE(parse_i64(text_of("-9223372036854775808"), &v));
  EXPECT_EQ(v, INT64_MIN);
  ASSERT_TRUE(parse_i64(text_of("9223372036854775807"), &v));
  EXPECT_EQ(v, INT64_MAX);
  ASSERT_TRUE(parse_i64(text_of(" +42 "), &v));
  EXPECT_EQ(v, 42);
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "", "-", "1.0", "1e3"}) {
    EXPECT_FALSE(parse_i64(text_of(text), &v)) << text;
  }
}

}  // namespace
}  // namespace vireo::number_test
