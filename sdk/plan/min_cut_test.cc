#include "sdk/plan/min_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace vireo::min_cut_test {
namespace {

struct Cut {
  int64_t cost = 0;
  std::vector<uint8_t> at_sink;
  uint64_t operations = 0;
};

Cut solve(int32_t points, const std::vector<CutEdge>& edges) {
  std::vector<uint64_t> workspace(
      static_cast<size_t>(min_cut_workspace_bytes(points, static_cast<int64_t>(edges.size()))) / 8);
  Cut cut;
  cut.at_sink.resize(static_cast<size_t>(points));
  CutResult result;
  Error error;
  EXPECT_EQ(min_cut(points, {edges.data(), edges.size()},
                    {reinterpret_cast<uint8_t*>(workspace.data()), workspace.size() * 8},
                    {cut.at_sink.data(), cut.at_sink.size()}, &result, &error),
            Status::kOk)
      << error.message;
  cut.cost = result.cost;
  cut.operations = result.operations;
  return cut;
}

int64_t cost_of(const std::vector<CutEdge>& edges, uint32_t sink_side) {
  const auto at = [&](int32_t p) { return (sink_side >> p & 1u) != 0; };
  int64_t sum = 0;
  for (const CutEdge& e : edges) sum += at(e.from) == at(e.to) ? 0 : at(e.to) ? e.cost : e.back;
  return sum;
}

std::vector<CutEdge> random_network(int32_t points, std::mt19937_64* random) {
  const auto below = [&](uint64_t n) { return static_cast<int32_t>((*random)() % n); };
  std::vector<CutEdge> edges(static_cast<size_t>(1 + below(4 * static_cast<uint64_t>(points))));
  for (CutEdge& e : edges) {
    e.from = below(static_cast<uint64_t>(points));
    do e.to = below(static_cast<uint64_t>(points));
    while (e.to == e.from);
    e.cost = below(12);
    e.back = below(3) == 0 ? below(12) : 0;
    if (below(8) == 0) e.cost = int64_t{1} << 44;  // as good as never
  }
  return edges;
}

// The cost is the least of all cuts, and the sink's side a part of every other cheapest cut's.
TEST(MinCut, IsTheCheapestWithTheFewestAtTheSink) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 4000; ++i) {
    const auto points = static_cast<int32_t>(2 + random() % 9);
    std::vector<CutEdge> edges = random_network(points, &random);
    int64_t best = INT64_MAX;
    uint32_t fewest = 0;
    for (uint32_t side = 0; side < 1u << points; ++side) {
      if ((side & 3u) != 2u) continue;  // the sink alone of the two
      const int64_t cost = cost_of(edges, side);
      if (cost < best) fewest = side;
      if (cost == best) fewest &= side;
      best = std::min(best, cost);
    }
    const Cut cut = solve(points, edges);
    ASSERT_EQ(cut.cost, best) << i;
    for (int32_t p = 0; p < points; ++p) ASSERT_EQ(cut.at_sink[static_cast<size_t>(p)], fewest >> p & 1u) << i;
    std::shuffle(edges.begin(), edges.end(), random);
    ASSERT_EQ(solve(points, edges).at_sink, cut.at_sink);
  }
}

TEST(MinCut, NothingBetweenSourceAndSink) {
  EXPECT_EQ(solve(2, {}).cost, 0);
  const Cut cut = solve(4, {{kCutSource, 2, 5, 0}, {3, kCutSink, 5, 0}});
  EXPECT_EQ(cut.cost, 0);
  EXPECT_EQ(cut.at_sink, (std::vector<uint8_t>{0, 1, 0, 1}));
}

TEST(MinCut, RefusesWhatItCannotTake) {
  std::vector<uint64_t> workspace(static_cast<size_t>(min_cut_workspace_bytes(3, 1)) / 8 + 1, 0x5A5A5A5A5A5A5A5A);
  uint8_t at_sink[3];
  CutResult result;
  const auto run = [&](CutEdge e, size_t bytes) {
    Error error;
    return min_cut(3, {&e, 1}, {reinterpret_cast<uint8_t*>(workspace.data()), bytes}, at_sink, &result, &error);
  };
  const auto bytes = static_cast<size_t>(min_cut_workspace_bytes(3, 1));
  EXPECT_EQ(run({0, 2, 1, 0}, bytes - 1), Status::kOutOfArena);
  EXPECT_EQ(run({0, 3, 1, 0}, bytes), Status::kInvalidArgument);
  EXPECT_EQ(run({0, -1, 1, 0}, bytes), Status::kInvalidArgument);
  EXPECT_EQ(run({2, 2, 1, 0}, bytes), Status::kInvalidArgument);
  EXPECT_EQ(run({0, 2, -1, 0}, bytes), Status::kInvalidArgument);
  EXPECT_EQ(run({0, 2, 1, 0}, bytes), Status::kOk);
  EXPECT_EQ(workspace.back(), 0x5A5A5A5A5A5A5A5A);  // nothing behind the end
}

// A chain whose one half leans to the source, the other to the sink, and which is dear to cut: twice the points take
// little more than twice the steps. By paths of rising length it would be four times.
TEST(MinCut, GrowsWithAChain) {
  const auto steps = [](int32_t n) {
    std::vector<CutEdge> edges;
    for (int32_t p = 0; p < n; ++p) {
      if (p < n / 2) edges.push_back({kCutSource, 2 + p, 7 + p % 3, 0});
      if (p >= n / 2) edges.push_back({2 + p, kCutSink, 7 + p % 5, 0});
      if (p > 0) edges.push_back({1 + p, 2 + p, int64_t{1} << 40, int64_t{1} << 40});
    }
    return solve(2 + n, edges).operations;
  };
  EXPECT_LT(steps(2000), 3 * steps(1000));
  EXPECT_LT(steps(16000), 40 * steps(1000));
}

}  // namespace
}  // namespace vireo::min_cut_test
