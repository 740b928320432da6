#include "converter/emit/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace vireo::emit::schedule_test {
namespace {

struct Graph {
  struct Node {
    std::vector<int32_t> in, out;
    uint32_t inplace = 0;
    bool view = false;
  };
  std::vector<PlanTensor> tensors;
  std::vector<Node> nodes;

  int32_t tensor(int64_t bytes, PlanTensor::Kind kind = PlanTensor::kValue, bool output = false) {
    tensors.push_back({bytes, kind, output});
    return static_cast<int32_t>(tensors.size()) - 1;
  }
  std::vector<PlanNode> list() const {
    std::vector<PlanNode> out;
    for (const Node& n : nodes) {
      out.push_back({{n.in.data(), n.in.size()}, {n.out.data(), n.out.size()}, n.inplace, n.view, -1, {}, false});
    }
    return out;
  }
  std::vector<std::vector<uint32_t>> orders() const {
    const std::vector<PlanNode> all = list();
    return candidate_orders({tensors.data(), tensors.size()}, {all.data(), all.size()});
  }
  // The planner's own lower bound of an order.
  uint64_t peak(const std::vector<uint32_t>& order) const {
    const std::vector<PlanNode> all = list();
    std::vector<PlanNode> ordered;
    for (const uint32_t n : order) ordered.push_back(all[n]);
    std::vector<uint64_t> offsets(tensors.size()), regions(nodes.size());
    std::vector<uint64_t> work(static_cast<size_t>(
        plan_workspace_bytes(static_cast<int64_t>(tensors.size()), static_cast<int64_t>(nodes.size())) / 8 + 1));
    PlanResult result;
    Error error;
    EXPECT_EQ(plan_arena({tensors.data(), tensors.size()}, {ordered.data(), ordered.size()}, PackOrder::kSize, false,
                         {reinterpret_cast<uint8_t*>(work.data()), work.size() * 8}, {offsets.data(), offsets.size()},
                         {regions.data(), regions.size()}, &result, &error),
              Status::kOk)
        << error.message;
    return result.lower_bound;
  }
  bool can_run(const std::vector<uint32_t>& order) const {
    std::vector<bool> made(tensors.size());
    for (size_t t = 0; t < tensors.size(); ++t) made[t] = tensors[t].kind != PlanTensor::kValue;
    for (const uint32_t n : order) {
      for (const int32_t x : nodes[n].in) {
        if (!made[static_cast<size_t>(x)]) return false;
      }
      for (const int32_t y : nodes[n].out) made[static_cast<size_t>(y)] = true;
    }
    return order.size() == nodes.size();
  }
};

Graph random_graph(std::mt19937& rng, int count) {
  Graph g;
  std::vector<int32_t> pool = {g.tensor(64 * static_cast<int64_t>(1 + rng() % 4), PlanTensor::kInput)};
  for (int n = 0; n < count; ++n) {
    Graph::Node node;
    for (unsigned i = 0, k = 1 + rng() % 2; i < k; ++i) node.in.push_back(pool[rng() % pool.size()]);
    node.view = rng() % 6 == 0;
    node.inplace = node.view ? 0 : rng() % 4;
    const int64_t bytes =
        node.view ? g.tensors[static_cast<size_t>(node.in[0])].bytes : 64 * static_cast<int64_t>(1 + rng() % 9);
    node.out.push_back(g.tensor(bytes));
    pool.push_back(node.out[0]);
    g.nodes.push_back(node);
  }
  g.tensors.back().output = true;
  return g;
}

// Branches written side by side, as exporters do: each widens and narrows again.
TEST(Schedule, RunsBranchesOneAfterAnother) {
  Graph g;
  const int32_t x = g.tensor(64, PlanTensor::kInput);
  std::vector<int32_t> wide, narrow;
  for (int i = 0; i < 4; ++i) wide.push_back(g.tensor(6400));
  for (int i = 0; i < 4; ++i) narrow.push_back(g.tensor(64));
  const int32_t y = g.tensor(64, PlanTensor::kValue, true);
  for (int i = 0; i < 4; ++i) g.nodes.push_back({{x}, {wide[static_cast<size_t>(i)]}});
  for (int i = 0; i < 4; ++i) g.nodes.push_back({{wide[static_cast<size_t>(i)]}, {narrow[static_cast<size_t>(i)]}});
  g.nodes.push_back({narrow, {y}});
  const auto orders = g.orders();
  EXPECT_GE(g.peak(orders[0]), 4 * 6400u);
  EXPECT_EQ(g.peak(orders.back()), 64 + 6400 + 3 * 64u);
}

TEST(Schedule, FindsTheSmallestPeakOfSmallGraphs) {
  std::mt19937 rng(11);
  for (int round = 0; round < 200; ++round) {
    const Graph g = random_graph(rng, 1 + static_cast<int>(rng() % 7));
    std::vector<uint32_t> order(g.nodes.size());
    for (size_t n = 0; n < order.size(); ++n) order[n] = static_cast<uint32_t>(n);
    uint64_t best = UINT64_MAX;
    do {
      if (g.can_run(order)) best = std::min(best, g.peak(order));
    } while (std::next_permutation(order.begin(), order.end()));
    uint64_t found = UINT64_MAX;
    for (const auto& candidate : g.orders()) {
      ASSERT_TRUE(g.can_run(candidate));
      found = std::min(found, g.peak(candidate));
    }
    ASSERT_EQ(found, best) << "round " << round;
  }
}

// A file may declare any size: its sums are not computed beyond what 64 bits hold.
TEST(Schedule, SizesNearTheLargestNumberAreOrdered) {
  const int64_t huge = std::numeric_limits<int64_t>::max() - 100;
  Graph g;
  const int32_t x = g.tensor(huge, PlanTensor::kInput);
  const int32_t a = g.tensor(huge), b = g.tensor(huge), y = g.tensor(64, PlanTensor::kValue, true);
  g.nodes.push_back({{x}, {a}});
  g.nodes.push_back({{x}, {b}});
  g.nodes.push_back({{a, b}, {y}});
  for (const auto& order : g.orders()) EXPECT_TRUE(g.can_run(order));
}

TEST(Schedule, LargeGraphsStayWithinTheBudget) {
  std::mt19937 rng(3);
  const Graph g = random_graph(rng, 3000);
  const auto orders = g.orders();
  ASSERT_EQ(orders.size(), 3u);
  for (const auto& order : orders) EXPECT_TRUE(g.can_run(order));
}

}  // namespace
}  // namespace vireo::emit::schedule_test
