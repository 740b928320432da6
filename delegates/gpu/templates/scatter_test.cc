#include "delegates/gpu/templates/scatter.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "delegates/gpu/templates/testing.h"

namespace vireo::gpu {
namespace scatter_test {
namespace {

float combine(Function f, float before, float update) {
  switch (f) {
    case Function::kAdd:
      return before + update;
    case Function::kMul:
      return before * update;
    case Function::kMin:
      return std::min(before, update);
    case Function::kMax:
      return std::max(before, update);
    default:
      return update;
  }
}

// Updates of columns along the first axis of y [extent, columns]: several may meet, and the last one counts.
void add(Trials* trials, uint32_t seed, Function f, const Target& target) {
  std::mt19937 rng(seed);
  const int64_t columns = 1 + rng() % 90, updates = 1 + rng() % 9, extent = 1 + rng() % 5;
  ScatterProblem p;
  p.shape = {columns};
  p.updates = updates;
  p.index_dtype = target.int64 && rng() % 2 == 0 ? DType::kI64 : DType::kI32;
  p.index.strides = p.update.strides = {1, columns};
  p.y.strides = {1};
  p.components = {{0, extent, columns}};
  p.combine = f;
  p.reports = rng() % 2 == 0;
  p.slot = 2;
  std::vector<int64_t> index(static_cast<size_t>(columns * updates));
  for (int64_t& i : index) i = static_cast<int64_t>(rng() % static_cast<uint32_t>(4 * extent)) - 2 * extent;
  const std::vector<float> update = random_floats(index.size(), seed);
  std::vector<float> y = random_floats(static_cast<size_t>(columns * extent), seed + 1);
  const std::vector<float> before = y;
  bool outside = false;
  for (int64_t k = 0; k < updates; ++k) {
    for (int64_t c = 0; c < columns; ++c) {
      const auto at = static_cast<size_t>(k * columns + c);
      const int64_t i = index[at] < 0 ? index[at] + extent : index[at];
      if (i < 0 || i >= extent) {
        outside = true;
        continue;
      }
      float& to = y[static_cast<size_t>(i * columns + c)];
      to = combine(f, to, update[at]);
    }
  }
  std::vector<Bytes> bindings;
  if (p.index_dtype == DType::kI64) {
    bindings.push_back(bytes_of(index));
  } else {
    bindings.push_back(bytes_of(std::vector<int32_t>(index.begin(), index.end())));
  }
  bindings.push_back(bytes_of(update));
  bindings.push_back(bytes_of(before));
  if (p.reports) bindings.emplace_back(4 * sizeof(uint32_t));
  const bool reports = p.reports;
  trials->add("seed " + std::to_string(seed), make_scatter(p, target), target, std::move(bindings),
              [=](const std::vector<Bytes>& made) {
                EXPECT_EQ(as<float>(made[2]), y);
                if (reports) {
                  EXPECT_EQ(as<uint32_t>(made[3])[2], outside ? 1u : 0u);
                }
              });
}

TEST(Scatter, TheLastUpdateStays) {
  Trials trials;
  for (uint32_t seed = 1; seed <= 16; ++seed)
    add(&trials, seed, Function::kCast, seed % 2 == 0 ? plain_target() : rich_target());
}

TEST(Scatter, UpdatesAreCombinedInTheirOrder) {
  Trials trials;
  uint32_t seed = 100;
  for (const Function f : {Function::kAdd, Function::kMul, Function::kMin, Function::kMax}) {
    for (int i = 0; i < 4; ++i) add(&trials, ++seed, f, i % 2 == 0 ? plain_target() : rich_target());
  }
}

// Two numbers choose a row of y [3, 4, 5]; each row is a line of updates of the five lanes.
TEST(Scatter, PlacesOfSeveralNumbers) {
  Trials trials;
  ScatterProblem p;
  p.shape = {5};
  p.updates = 3;
  p.index_dtype = DType::kI32;
  p.index.strides = {0, 2};
  p.update.strides = {1, 5};
  p.y.strides = {1};
  p.components = {{0, 3, 20}, {1, 4, 5}};
  const std::vector<int32_t> index = {2, 3, 0, -1, 2, 3};
  std::vector<float> update(15), wanted(60, 0);
  for (size_t i = 0; i < update.size(); ++i) update[i] = static_cast<float>(i + 1);
  for (size_t i = 0; i < 5; ++i) {
    wanted[55 + i] = update[10 + i];
    wanted[15 + i] = update[5 + i];
  }
  trials.add("rows", make_scatter(p, plain_target()), plain_target(),
             {bytes_of(index), bytes_of(update), bytes_of(std::vector<float>(60, 0))},
             [=](const std::vector<Bytes>& made) { EXPECT_EQ(as<float>(made[2]), wanted); });
}

TEST(Scatter, WhatThereIsNoCodeFor) {
  ScatterProblem p;
  p.shape = {2};
  p.index.strides = p.update.strides = {1, 0};
  p.y.strides = {1};
  p.components = {{0, 2, 1}};
  EXPECT_NE(make_scatter(p, plain_target()).refusal.find("int64"), std::string::npos);
  p.index_dtype = DType::kI32;
  p.dtype = DType::kF16;
  EXPECT_NE(make_scatter(p, plain_target()).refusal.find("one by one"), std::string::npos);
}

}  // namespace
}  // namespace scatter_test
}  // namespace vireo::gpu
