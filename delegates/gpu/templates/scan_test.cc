#include "delegates/gpu/templates/scan.h"

#include <gtest/gtest.h>

#include "delegates/gpu/templates/testing.h"

namespace vireo::gpu {
namespace scan_test {
namespace {

// All lines of a drawn block, along its last or its first axis.
void add(Trials* trials, uint32_t seed, const Target& target) {
  std::mt19937 rng(seed);
  const int64_t rows = 1 + rng() % 90, length = 1 + rng() % 40;
  ScanProblem p;
  p.shape = {rows, length};
  p.product = rng() % 3 == 0;
  p.exclusive = rng() % 2 == 0;
  p.reverse = rng() % 2 == 0;
  const bool first = rng() % 2 == 0;
  p.x.strides = p.y.strides = first ? Extents{1, rows} : Extents{length, 1};
  const auto count = static_cast<size_t>(rows * length);
  const bool floats = rng() % 2 == 0;
  p.dtype = floats ? DType::kF32 : DType::kI32;
  std::vector<float> x = random_floats(count, seed, 0.5f, 1.5f);
  std::vector<int32_t> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<int32_t>(rng());
  trials->add("seed " + std::to_string(seed), make_scan(p, target), target,
              {floats ? bytes_of(x) : bytes_of(numbers), Bytes(count * 4, 0xA5)},
              [=](const std::vector<Bytes>& result) {
                for (int64_t r = 0; r < rows; ++r) {
                  double real = p.product ? 1 : 0;
                  uint32_t whole = p.product ? 1 : 0;
                  for (int64_t k = 0; k < length; ++k) {
                    const int64_t i = p.reverse ? length - 1 - k : k;
                    const auto at = static_cast<size_t>(r * p.x.strides[0] + i * p.x.strides[1]);
                    const double before = real;
                    const uint32_t whole_before = whole;
                    const auto v = static_cast<double>(x[at]);
                    const auto n = static_cast<uint32_t>(numbers[at]);
                    real = p.product ? real * v : real + v;
                    whole = p.product ? whole * n : whole + n;
                    const double wanted = p.exclusive ? before : real;
                    if (floats) {
                      ASSERT_NEAR(as<float>(result[1])[at], wanted, 1e-5 * (1 + wanted)) << "row " << r << " at " << i;
                    } else {
                      ASSERT_EQ(as<uint32_t>(result[1])[at], p.exclusive ? whole_before : whole);
                    }
                  }
                }
              });
}

TEST(Scan, LinesOfAnyLength) {
  Trials trials;
  for (uint32_t seed = 1; seed <= 24; ++seed) add(&trials, seed, seed % 2 == 0 ? plain_target() : rich_target());
}

// One added to 2^25 is lost in float32; a hundred of them are not.
TEST(Scan, SmallAddendsAreNotLost) {
  Trials trials;
  const int64_t length = 101;
  ScanProblem p;
  p.shape = {1, length};
  p.x.strides = p.y.strides = {length, 1};
  std::vector<float> x(static_cast<size_t>(length), 1);
  x[0] = 33554432;
  trials.add("small", make_scan(p, plain_target()), plain_target(), {bytes_of(x), Bytes(x.size() * 4, 0xA5)},
             [=](const std::vector<Bytes>& result) { EXPECT_EQ(as<float>(result[1]).back(), 33554532); });
}

TEST(Scan, WhatThereIsNoArithmeticFor) {
  ScanProblem p;
  p.shape = {2, 3};
  p.x.strides = p.y.strides = {3, 1};
  p.dtype = DType::kF64;
  EXPECT_NE(make_scan(p, plain_target()).refusal.find("float64"), std::string::npos);
}

}  // namespace
}  // namespace scan_test
}  // namespace vireo::gpu
