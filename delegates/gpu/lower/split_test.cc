// What is split computes what it did before, on host lanes.
#include "delegates/gpu/lower/split.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "delegates/gpu/lower/lanes_testing.h"

namespace vireo::gpu::split_test {
namespace {

// Few queries with many keys: workgroups share the keys, and a chain combines what they made and goes on with the tail.
TEST(Split, AttentionOfFewQueries) {
  constexpr int64_t kHeads = 2, kQueries = 24, kKeys = 300, kSize = 16;
  AttentionProblem p;
  p.batch = {kHeads};
  p.queries = kQueries;
  p.keys = kKeys;
  p.head = p.value_head = kSize;
  p.q = {DType::kF32, 0, {kQueries * kSize}, kSize, 1};
  p.k = p.v = {DType::kF32, 0, {kKeys * kSize}, kSize, 1};
  ExpressionBuilder score(&p.score);
  View mask, unused, y, bias;
  mask.strides = {0, kKeys, 1};
  unused.strides = {0, 0, 0};
  const int product = score.given(DType::kF32);
  score.output(score.function(Function::kAdd, DType::kF32, product, score.input(DType::kF32, mask)), unused);
  // Results have heads side by side; the tail multiplies by a factor a head, and keeps the sum as well.
  y.strides = {kSize, kHeads * kSize, 1};
  bias.strides = {1, 0, 0};
  ExpressionBuilder end(&p.epilogue);
  const int sum = end.given(DType::kF32);
  const int factor = end.input(DType::kF32, bias);
  end.output(end.function(Function::kMul, DType::kF32, end.function(Function::kNeg, DType::kF32, sum), factor), y);
  end.output(sum, y);
  std::vector<Bytes> memories;
  uint32_t seed = 1;
  const auto floats = [&](int64_t count, float scale) {
    Bytes out(static_cast<size_t>(count) * 4);
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      seed = seed * 1664525u + 1013904223u;
      const float v = static_cast<float>(static_cast<int32_t>(seed) >> 21) / 1024 * scale;
      std::memcpy(&out[4 * i], &v, 4);
    }
    return out;
  };
  const int64_t rows = kHeads * kQueries * kSize;
  for (const int64_t count : {rows, kHeads * kKeys * kSize, kHeads * kKeys * kSize})
    memories.push_back(floats(count, 1));
  memories.push_back(floats(kQueries * kKeys, 3));
  const float never = -std::numeric_limits<float>::infinity();
  for (size_t n = 0; n < kKeys; ++n) {  // query 0 sees no key, query 1 those behind the first 130
    std::memcpy(&memories[3][4 * n], &never, 4);
    if (n < 130) std::memcpy(&memories[3][4 * (kKeys + n)], &never, 4);
  }
  memories.push_back(floats(kHeads, 1));
  memories.emplace_back(rows * 4, 1);
  memories.emplace_back(rows * 4, 1);
  const Network network;
  const Target target = with_unit();
  std::vector<std::vector<float>> results[2];
  for (const bool splits : {false, true}) {
    Lowering l(network, target);
    for (const Bytes& m : memories) (void)l.make_memory(m.size());
    Work w;
    w.problem = p;
    w.operands = {0, 1, 2};
    w.reads = {3, 4};
    w.writes = {5, 6};
    l.works.push_back(std::move(w));
    if (splits) split_depth(&l);
    ASSERT_EQ(l.works.size(), splits ? 2u : 1u);
    const uint32_t shares = dispatch_of(l.works[0].problem, target).groups[1];
    EXPECT_EQ(shares, splits ? 5u : 1u);
    const std::vector<Bytes> after = run_works(l, memories);
    for (const size_t m : {5, 6}) {
      std::vector<float> values(static_cast<size_t>(rows));
      std::memcpy(values.data(), after[m].data(), after[m].size());
      results[splits ? 1 : 0].push_back(std::move(values));
    }
  }
  for (size_t o = 0; o < 2; ++o) {
    for (size_t i = 0; i < static_cast<size_t>(rows);
         ++i)  // values below 1; shares are rounded to float16 on both sides
      ASSERT_NEAR(results[1][o][i], results[0][o][i], 1e-3) << o << " " << i;
  }
  EXPECT_EQ(results[1][1][0], 0);
  EXPECT_NE(results[1][1][2 * kSize], 0);
}

}  // namespace
}  // namespace vireo::gpu::split_test
