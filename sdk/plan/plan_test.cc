#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <vector>

#include "sdk/plan/bounds.h"
#include "sdk/plan/planner.h"

namespace vireo {
namespace {

struct Graph {
  struct Node {
    std::vector<int32_t> in, out;
    uint32_t inplace = 0;
    bool view = false;
    int64_t region = -1;
  };
  std::vector<PlanTensor> tensors;
  std::vector<Node> nodes;
  std::vector<uint64_t> offsets, regions;
  PlanResult result;

  int32_t tensor(int64_t bytes, PlanTensor::Kind kind = PlanTensor::kValue, bool output = false) {
    tensors.push_back({bytes, kind, output});
    return static_cast<int32_t>(tensors.size()) - 1;
  }
  void plan(bool body = false, int64_t tries = 0) {
    std::vector<PlanNode> list;
    for (const Node& n : nodes) {
      list.push_back({{n.in.data(), n.in.size()}, {n.out.data(), n.out.size()}, n.inplace, n.view, n.region});
    }
    offsets.assign(tensors.size(), 0);
    regions.assign(nodes.size(), 0);
    std::vector<uint64_t> work(static_cast<size_t>(
        plan_workspace_bytes(static_cast<int64_t>(tensors.size()), static_cast<int64_t>(nodes.size())) / 8 + 1));
    Error error;
    ASSERT_EQ(
        plan_arena_best({tensors.data(), tensors.size()}, {list.data(), list.size()}, body,
                        {reinterpret_cast<uint8_t*>(work.data()), work.size() * 8}, {offsets.data(), offsets.size()},
                        {regions.data(), regions.size()}, &result, &error, tries),
        Status::kOk)
        << error.message;
  }
};

TEST(Planner, ChainUsesTwoBuffersAndViewsNone) {
  Graph g;
  int32_t x = g.tensor(640, PlanTensor::kInput);
  for (int i = 0; i < 6; ++i) {
    const int32_t y = g.tensor(640, PlanTensor::kValue, i == 5);
    g.nodes.push_back({{x}, {y}, 0, i == 3});
    x = y;
  }
  g.plan();
  EXPECT_EQ(g.result.lower_bound, 1280u);
  EXPECT_EQ(g.result.bytes, 1280u);
  EXPECT_EQ(g.offsets[3], g.offsets[4]);  // the view
}

TEST(Planner, InPlaceNeedsTheSameBytesAtEveryRun) {
  const TensorType fixed{DType::kF32, {2, {3, 4}}}, wide{DType::kI64, {2, {3, 2}}};
  const TensorType symbolic{DType::kF32, {2, {handle_of(1), 4}}}, other{DType::kF32, {2, {handle_of(2), 4}}};
  const TensorType halves{DType::kF16, {2, {handle_of(1), 4}}};
  const TensorType types[] = {fixed, symbolic, other, halves, wide};
  const auto bits = [&](int32_t x, int32_t y, uint32_t inplace) {
    const int32_t inputs[] = {-1, x}, outputs[] = {y};
    return inplace_always(inplace, inputs, outputs, [&](int32_t t) { return types[t]; });
  };
  EXPECT_EQ(bits(0, 0, 3), 2u);
  EXPECT_EQ(bits(4, 0, 2), 2u);  // sizes that are numbers are compared by the planner
  EXPECT_EQ(bits(1, 1, 2), 2u);
  EXPECT_EQ(bits(1, 1, 1), 0u);  // absent
  EXPECT_EQ(bits(1, 0, 2), 0u);
  EXPECT_EQ(bits(0, 1, 2), 0u);
  EXPECT_EQ(bits(2, 1, 2), 0u);
  EXPECT_EQ(bits(3, 1, 2), 0u);
}

TEST(Planner, CompositesWorkInPlaceOnWhatTheirFirstNodeAloneReads) {
  const uint32_t inputs[] = {4, 5, 6};
  const auto bits = [&](uint32_t inplace, std::initializer_list<int32_t> first, int32_t later) {
    return composite_inplace(inplace, {first.begin(), first.size()}, inputs, [&](int32_t t) { return t == later; });
  };
  EXPECT_EQ(bits(3, {4, 6}, -1), 5u);
  EXPECT_EQ(bits(3, {4, 6}, 6), 1u);   // read again
  EXPECT_EQ(bits(1, {4, 6}, -1), 1u);  // the first node cannot overwrite its second operand
  EXPECT_EQ(bits(1, {5, 5}, -1), 0u);  // nor the same tensor there
  EXPECT_EQ(bits(3, {5, 5}, -1), 2u);
  EXPECT_EQ(bits(0, {4}, -1), 0u);
}

TEST(Planner, WhatABodyReadsTwiceIsNotOverwritten) {
  Graph g;
  const int32_t x = g.tensor(64, PlanTensor::kInput), a = g.tensor(64), v = g.tensor(64);
  const int32_t y = g.tensor(64, PlanTensor::kValue, true);
  g.nodes = {{{x}, {a}}, {{a}, {v}, 0, /*view=*/true}, {{a, v}, {y}, 1, false, /*region=*/0}};
  g.plan();
  EXPECT_NE(g.offsets[y], g.offsets[a]);
  g.nodes[2].region = -1;  // an operator that says it may
  g.plan();
  EXPECT_EQ(g.offsets[y], g.offsets[a]);
}

TEST(Planner, InPlaceOnlyWhenTheInputDies) {
  Graph g;
  const int32_t x = g.tensor(64, PlanTensor::kInput);
  const int32_t a = g.tensor(64), b = g.tensor(64), c = g.tensor(64, PlanTensor::kValue, true);
  g.nodes = {{{x}, {a}}, {{a}, {b}, 1}, {{a, b}, {c}, 3}};
  g.plan();
  EXPECT_NE(g.offsets[a], g.offsets[b]);  // a is needed once more
  EXPECT_TRUE(g.offsets[c] == g.offsets[a] || g.offsets[c] == g.offsets[b]);
}

// Two-node lives in a row, of sizes at which every order of packing leaves a hole (found among random ones).
TEST(Planner, ClimbingClosesHoles) {
  std::mt19937 rng(5);
  uint64_t packed = 0, climbed = 0, bound = 0;
  for (int round = 0; round < 50; ++round) {
    Graph g;
    std::vector<int32_t> made;
    for (int n = 0; n < 24; ++n) {
      Graph::Node node;
      for (int i = 0; i < 3 && !made.empty(); ++i)
        node.in.push_back(made[made.size() - 1 - rng() % std::min<size_t>(made.size(), 6)]);
      made.push_back(g.tensor(64 * static_cast<int64_t>(1 + rng() % 20)));
      node.out.push_back(made.back());
      g.nodes.push_back(node);
    }
    g.plan();
    packed += g.result.bytes;
    g.plan(/*body=*/false, /*tries=*/300);
    climbed += g.result.bytes;
    bound += g.result.lower_bound;
  }
  EXPECT_LT(climbed, packed);
  EXPECT_LT(climbed - bound, (packed - bound) / 2);
}

TEST(Planner, InputsAreNeverOverwritten) {
  Graph g;
  const int32_t x = g.tensor(64, PlanTensor::kInput), y = g.tensor(64, PlanTensor::kValue, true);
  g.nodes = {{{x}, {y}, 1}};
  g.plan();
  EXPECT_NE(g.offsets[x], g.offsets[y]);
}

TEST(Planner, BodyValuesLieInTheBoundOutput) {
  Graph g;
  const int32_t x = g.tensor(64, PlanTensor::kBound), t = g.tensor(256), y = g.tensor(256, PlanTensor::kBound, true);
  g.nodes = {{{x}, {t}}, {{t}, {y}, 1}};
  g.plan(/*body=*/true);
  EXPECT_EQ(g.offsets[t], output_alias(static_cast<uint32_t>(y)));
  EXPECT_EQ(g.offsets[y], kNoOffset);
  EXPECT_EQ(g.result.bytes, 0u);
}

// Against a simulation: every tensor is written with a tag and must still hold it at each use.
TEST(Planner, RandomGraphsKeepEveryLiveValue) {
  std::mt19937 rng(7);
  for (int round = 0; round < 300; ++round) {
    Graph g;
    std::vector<int32_t> pool = {g.tensor(64 * (1 + rng() % 8), PlanTensor::kInput), g.tensor(128, PlanTensor::kState)};
    const int count = 1 + static_cast<int>(rng() % 30);
    for (int n = 0; n < count; ++n) {
      Graph::Node node;
      for (unsigned i = 0, k = 1 + rng() % 2; i < k; ++i) node.in.push_back(pool[rng() % pool.size()]);
      node.view = rng() % 5 == 0;
      node.inplace = node.view ? 1 : rng() % 4;
      const int64_t bytes =
          node.view ? g.tensors[static_cast<size_t>(node.in[0])].bytes : 64 * static_cast<int64_t>(rng() % 9);
      node.out.push_back(g.tensor(bytes, PlanTensor::kValue, rng() % 6 == 0));
      if (rng() % 9 == 0) node.region = 64 * static_cast<int64_t>(rng() % 5);
      pool.push_back(node.out[0]);
      g.nodes.push_back(node);
    }
    g.plan();
    const uint64_t unclimbed = g.result.bytes;
    g.plan(/*body=*/false, /*tries=*/round % 2 == 0 ? 50 : 0);
    ASSERT_LE(g.result.bytes, unclimbed);
    ASSERT_GE(g.result.bytes, g.result.lower_bound);
    std::vector<int> memory(g.result.bytes / 64, -1);
    std::vector<int> content(g.tensors.size());  // views hold what their input holds
    const auto write = [&](int32_t t) {
      for (int64_t k = 0; k < g.tensors[static_cast<size_t>(t)].bytes / 64; ++k) {
        memory[(g.offsets[static_cast<size_t>(t)] / 64) + static_cast<uint64_t>(k)] = content[static_cast<size_t>(t)];
      }
    };
    const auto check = [&](int32_t t) {
      for (int64_t k = 0; k < g.tensors[static_cast<size_t>(t)].bytes / 64; ++k) {
        ASSERT_EQ(memory[(g.offsets[static_cast<size_t>(t)] / 64) + static_cast<uint64_t>(k)],
                  content[static_cast<size_t>(t)]);
      }
    };
    for (int32_t t = 0; t < 2; ++t) {
      content[static_cast<size_t>(t)] = t;
      write(t);
    }
    size_t region = 0;
    for (const Graph::Node& n : g.nodes) {
      if (n.region >= 0) {
        for (int64_t k = 0; k < n.region / 64; ++k) memory[g.regions[region] / 64 + static_cast<uint64_t>(k)] = -2;
        ++region;
      }
      for (const int32_t x : n.in) check(x);
      content[static_cast<size_t>(n.out[0])] = n.view ? content[static_cast<size_t>(n.in[0])] : n.out[0];
      write(n.out[0]);
    }
    for (size_t t = 0; t < g.tensors.size(); ++t) {
      if (g.tensors[t].output || g.tensors[t].kind == PlanTensor::kState) check(static_cast<int32_t>(t));
    }
  }
}

TEST(Bounds, AreSoundOnSamples) {
  std::mt19937 rng(3);
  const auto draw = [&](Interval i) {
    return i.lo + static_cast<int64_t>(rng() % static_cast<uint64_t>(i.hi - i.lo + 1));
  };
  for (int round = 0; round < 20000; ++round) {
    Interval a{static_cast<int64_t>(rng() % 40) - 20, 0}, b{static_cast<int64_t>(rng() % 40) - 20, 0};
    a.hi = a.lo + static_cast<int64_t>(rng() % 30);
    b.hi = b.lo + static_cast<int64_t>(rng() % 30);
    const int64_t x = draw(a), y = draw(b);
    const int64_t q = y == 0 ? 0 : (x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0));
    const int64_t got[] = {0, x + y, x - y, x * y, q, std::min(x, y), std::max(x, y)};
    for (int op = 1; op <= 6; ++op) {
      const Interval r = bound_of(static_cast<ExprKind>(op), a, b);
      ASSERT_LE(r.lo, got[op]) << op;
      ASSERT_GE(r.hi, got[op]) << op;
    }
  }
  EXPECT_TRUE(bound_of(ExprKind::kAdd, {0, INT64_MAX}, {1, 1}).open());
  EXPECT_TRUE(bound_of(ExprKind::kMul, {0, INT64_MAX - 1}, {4, 4}).open());
}

}  // namespace
}  // namespace vireo
