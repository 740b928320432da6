#include "delegates/gpu/templates/top.h"

#include <gtest/gtest.h>
#include <math.h>

#include <algorithm>
#include <numeric>

#include "delegates/gpu/templates/testing.h"

namespace vireo::gpu {
namespace top_test {
namespace {

// Lines with equal elements and NaNs, along the last or the first axis of a block.
void add(Trials* trials, uint32_t seed, const Target& target) {
  std::mt19937 rng(seed);
  const int64_t lines = 1 + rng() % 9, length = 1 + rng() % 70, count = 1 + rng() % length;
  const bool first = rng() % 2 == 0;
  TopProblem p;
  p.shape = {lines, length};
  p.count = count;
  p.largest = rng() % 2 == 0;
  p.x.strides = first ? Extents{1, lines} : Extents{length, 1};
  const uint32_t wanted = rng() % 3;  // both, one, the other
  if (wanted != 1) p.values.strides = {count, 1};
  if (wanted != 2) p.indices.strides = {1, lines};
  std::vector<float> x(static_cast<size_t>(lines * length));
  for (float& v : x) v = rng() % 12 == 0 ? NAN : static_cast<float>(static_cast<int>(rng() % 20) - 10);
  std::vector<float> values(static_cast<size_t>(lines * count));
  std::vector<int64_t> indices(values.size());
  for (int64_t line = 0; line < lines; ++line) {
    const auto at = [&](int64_t k) { return x[static_cast<size_t>(line * p.x.strides[0] + k * p.x.strides[1])]; };
    const auto less = [](float a, float b) { return !isnan(a) && (isnan(b) || a < b); };
    std::vector<int64_t> order(static_cast<size_t>(length));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return p.largest ? less(at(b), at(a)) : less(at(a), at(b)); });
    for (int64_t k = 0; k < count; ++k) {
      values[static_cast<size_t>(line * count + k)] = at(order[static_cast<size_t>(k)]);
      indices[static_cast<size_t>(line + k * lines)] = order[static_cast<size_t>(k)];
    }
  }
  std::vector<Bytes> bindings = {bytes_of(x)};
  if (wanted != 1) bindings.emplace_back(values.size() * sizeof(float), uint8_t{0xA5});
  if (wanted != 2) bindings.emplace_back(indices.size() * sizeof(int64_t), uint8_t{0xA5});
  trials->add("seed " + std::to_string(seed), make_top(p, target), target, std::move(bindings),
              [=](const std::vector<Bytes>& made) {
                if (wanted != 1) {
                  EXPECT_EQ(as<uint32_t>(made[1]), as<uint32_t>(bytes_of(values)));
                }
                if (wanted != 2) {
                  EXPECT_EQ(as<int64_t>(made.back()), indices);
                }
              });
}

TEST(Top, LinesOfAnyLength) {
  Trials trials;
  for (uint32_t seed = 1; seed <= 24; ++seed) add(&trials, seed, seed % 2 == 0 ? plain_target() : rich_target());
}

TEST(Top, WhatHasNoOrder) {
  TopProblem p;
  p.shape = {2, 3};
  p.x.strides = p.indices.strides = {3, 1};
  p.dtype = DType::kF64;
  EXPECT_NE(make_top(p, plain_target()).refusal.find("float64"), std::string::npos);
  p.dtype = DType::kF32;
  p.shape = {1, 20000};
  EXPECT_NE(make_top(p, plain_target()).refusal.find("16384"), std::string::npos);
}

}  // namespace
}  // namespace top_test
}  // namespace vireo::gpu
