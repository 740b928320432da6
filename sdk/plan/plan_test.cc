#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <vector>

#include "sdk/plan/bounds.h"
#include "sdk/plan/planner.h"

namespace vireo::plan_test {
namespace {

struct Graph {
  struct Node {
    std::vector<int32_t> in, out;
    uint32_t inplace = 0;
    bool view = false;
    int64_t region = -1;
    std::vector<int64_t> at = {};
    bool joins = false;
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
      list.push_back({{n.in.data(), n.in.size()},
                      {n.out.data(), n.out.size()},
                      n.inplace,
                      n.view,
                      n.region,
                      {n.at.data(), n.at.size()},
                      n.joins});
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
  const TensorType halves{DType::kF16, {2, {handle_of(1), 4}}}, row{DType::kF32, {1, {4}}};
  const TensorType types[] = {fixed, symbolic, other, halves, wide, row};
  const auto bits = [&](int32_t x, int32_t y, uint32_t inplace) {
    const int32_t inputs[] = {-1, x}, outputs[] = {y};
    return inplace_always(inplace, inputs, outputs, [&](int32_t t) { return types[t]; });
  };
  EXPECT_EQ(bits(0, 0, 3), 2u);
  EXPECT_EQ(bits(4, 0, 2), 2u);
  EXPECT_EQ(bits(5, 0, 2), 0u);  // a body's first node may broadcast what is as large as the body's result
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

TEST(Planner, WhatIsReadTwiceIsNotOverwritten) {
  Graph g;
  const int32_t x = g.tensor(64, PlanTensor::kInput), a = g.tensor(64), v = g.tensor(64);
  const int32_t y = g.tensor(64, PlanTensor::kValue, true);
  g.nodes = {{{x}, {a}}, {{a}, {v}, 0, /*view=*/true}, {{a, v}, {y}, 1, false, /*region=*/0}};
  g.plan();
  EXPECT_NE(g.offsets[y], g.offsets[a]);
  g.nodes[2].region = -1;  // an operator that offers its first operand alone: Scatter, whose indices are these
  g.plan();
  EXPECT_NE(g.offsets[y], g.offsets[a]);
  g.nodes[2].inplace = 3;  // that offers both: Add
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

// More items than best fit is tried for: still nothing in one place at one time, and not far above the bound.
TEST(Planner, ManyItemsArePlacedAlongTheirLives) {
  std::mt19937 rng(1);
  Graph g;
  std::vector<int32_t> made = {g.tensor(64, PlanTensor::kInput)};
  const auto count = static_cast<int32_t>(2 * kMostBestFit);
  for (int32_t n = 0; n < count; ++n) {
    const size_t back = 1 + rng() % std::min<size_t>(made.size(), rng() % 50 == 0 ? 200 : 4);
    const int32_t y = g.tensor(64 * (1 + rng() % 50), PlanTensor::kValue, n + 1 == count);
    g.nodes.push_back({{made[made.size() - back]}, {y}});
    made.push_back(y);
  }
  g.plan();
  std::vector<int32_t> last(g.tensors.size(), 0);
  for (int32_t n = 0; n < count; ++n) last[static_cast<size_t>(g.nodes[static_cast<size_t>(n)].in[0])] = n;
  last.back() = count;
  std::vector<int32_t> live;
  for (int32_t n = 0; n < count; ++n) {
    const int32_t y = g.nodes[static_cast<size_t>(n)].out[0];
    const auto begin = [&](int32_t t) { return g.offsets[static_cast<size_t>(t)]; };
    const auto end = [&](int32_t t) {
      return begin(t) + static_cast<uint64_t>(g.tensors[static_cast<size_t>(t)].bytes);
    };
    live.erase(std::remove_if(live.begin(), live.end(), [&](int32_t x) { return last[static_cast<size_t>(x)] < n; }),
               live.end());
    for (const int32_t x : live) ASSERT_TRUE(end(x) <= begin(y) || end(y) <= begin(x)) << x << " and " << y;
    ASSERT_LE(end(y), g.result.bytes);
    live.push_back(y);
  }
  EXPECT_LE(g.result.bytes, 2 * g.result.lower_bound);
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

// ---- Parts inside their wholes

Graph::Node cut(int32_t x, std::vector<int32_t> parts, std::vector<int64_t> at) {
  return {{x}, std::move(parts), 0, false, -1, std::move(at), false};
}
Graph::Node join(std::vector<int32_t> parts, int32_t y, std::vector<int64_t> at) {
  return {std::move(parts), {y}, 0, false, -1, std::move(at), true};
}

TEST(PlannerParts, SplitAndConcatOfOneRun) {
  Graph g;
  const int32_t in = g.tensor(64, PlanTensor::kInput);
  const int32_t x = g.tensor(256), a = g.tensor(64), b = g.tensor(192), y = g.tensor(256), z = g.tensor(64);
  g.nodes = {{{in}, {x}}, cut(x, {a, b}, {0, 64}), join({a, b}, y, {0, 64}), {{y}, {z}}};
  g.plan();
  EXPECT_EQ(g.offsets[a], g.offsets[x]);
  EXPECT_EQ(g.offsets[b], g.offsets[x] + 64);
  EXPECT_EQ(g.offsets[y], g.offsets[x]);
  EXPECT_EQ(g.result.placed_bytes, 512u);
  EXPECT_EQ(g.result.bytes, 320u);
  EXPECT_EQ(g.result.lower_bound, 320u);
}

// YOLO's C2f: split, a chain from the second half, all of it side by side.
TEST(PlannerParts, SplitChainConcat) {
  Graph g;
  const int32_t in = g.tensor(64, PlanTensor::kInput);
  const int32_t x = g.tensor(256), a = g.tensor(128), b = g.tensor(128), c = g.tensor(128), d = g.tensor(128);
  const int32_t y = g.tensor(512), z = g.tensor(64);
  g.nodes = {{{in}, {x}}, cut(x, {a, b}, {0, 128}), {{b}, {c}}, {{c}, {d}}, join({a, b, c, d}, y, {0, 128, 256, 384}),
             {{y}, {z}}};
  g.plan();
  EXPECT_EQ(g.offsets[y], g.offsets[x]);
  EXPECT_EQ(g.offsets[d], g.offsets[y] + 384);
  EXPECT_EQ(g.result.placed_bytes, 256u + 512u);
  EXPECT_EQ(g.result.bytes, 576u);
}

// DenseNet: each result grows by what a layer makes of it; all lie in the last one.
TEST(PlannerParts, Growth) {
  Graph g;
  int32_t x = g.tensor(64, PlanTensor::kInput);
  std::vector<int32_t> grown;
  int64_t bytes = 0;
  for (int layer = 0; layer < 4; ++layer) {
    const int32_t made = g.tensor(64);
    g.nodes.push_back({{x}, {made}});
    if (layer == 0) {
      x = made;
    } else {
      const int32_t y = g.tensor(bytes + 64);
      g.nodes.push_back(join({x, made}, y, {0, bytes}));
      x = y;
    }
    bytes += 64;
    grown.push_back(x);
  }
  g.nodes.push_back({{x}, {g.tensor(64)}});
  g.plan();
  for (const int32_t t : grown) EXPECT_EQ(g.offsets[static_cast<size_t>(t)], g.offsets[static_cast<size_t>(x)]);
  EXPECT_EQ(g.result.bytes, 320u);
}

// ShuffleNet: two halves side by side, seen as another shape, shuffled, and split again; one half goes on in place.
TEST(PlannerParts, ConcatShuffleSplit) {
  Graph g;
  const int32_t in = g.tensor(64, PlanTensor::kInput);
  const int32_t a = g.tensor(64), b = g.tensor(64), y = g.tensor(128), view = g.tensor(128), mixed = g.tensor(128);
  const int32_t c = g.tensor(64), d = g.tensor(64), e = g.tensor(64), z = g.tensor(128, PlanTensor::kValue, true);
  g.nodes = {{{in}, {a}},
             {{in}, {b}},
             join({a, b}, y, {0, 64}),
             {{y}, {view}, 1, true},
             {{view}, {mixed}},
             cut(mixed, {c, d}, {0, 64}),
             {{d}, {e}, 1},
             join({c, e}, z, {0, 64})};
  g.plan();
  EXPECT_EQ(g.offsets[b], g.offsets[view] + 64);
  EXPECT_EQ(g.offsets[e], g.offsets[mixed] + 64);
  EXPECT_EQ(g.offsets[z], g.offsets[mixed]);
  EXPECT_EQ(g.result.placed_bytes, 384u);
  EXPECT_EQ(g.result.bytes, 256u);
}

TEST(PlannerParts, WhatIsNotPlaced) {
  {  // an input, an unknown place, a place that is not aligned, a bound output
    Graph g;
    const int32_t in = g.tensor(256, PlanTensor::kInput);
    const int32_t a = g.tensor(64), x = g.tensor(256), b = g.tensor(64), c = g.tensor(64);
    const int32_t y = g.tensor(128, PlanTensor::kBound, true);
    g.nodes = {cut(in, {a}, {64}), {{a}, {x}}, cut(x, {b, c}, {-1, 8}), join({b, c}, y, {0, 64})};
    g.plan(/*body=*/true);
    EXPECT_EQ(g.result.placed_bytes, 0u);
  }
  {  // twice in one result, and in a second one while the first is needed
    Graph g;
    const int32_t in = g.tensor(64, PlanTensor::kInput);
    const int32_t a = g.tensor(64), b = g.tensor(64), twice = g.tensor(128), both = g.tensor(128), z = g.tensor(64);
    g.nodes = {
        {{in}, {a}}, {{in}, {b}}, join({a, a}, twice, {0, 64}), join({a, b}, both, {0, 64}), {{twice, both}, {z}}};
    g.plan();
    EXPECT_EQ(g.result.placed_bytes, 128u);  // one a, and b
    EXPECT_NE(g.offsets[twice], g.offsets[both]);
    EXPECT_EQ(g.offsets[b], g.offsets[both] + 64);
  }
  {  // written in place while the whole is still needed, and after
    Graph g;
    const int32_t in = g.tensor(64, PlanTensor::kInput);
    const int32_t x = g.tensor(128), a = g.tensor(64), b = g.tensor(64), r = g.tensor(64), s = g.tensor(64);
    const int32_t z = g.tensor(64, PlanTensor::kValue, true);
    g.nodes = {{{in}, {x}}, cut(x, {a, b}, {0, 64}), {{a}, {r}, 1}, {{x, r}, {s}}, {{b, s}, {z}, 1}};
    g.plan();
    EXPECT_EQ(g.offsets[a], g.offsets[x]);
    EXPECT_NE(g.offsets[r], g.offsets[a]);
    EXPECT_EQ(g.offsets[z], g.offsets[x] + 64);
  }
  {  // the whole would keep a place for what comes late, and the arena would grow
    Graph g;
    const int32_t in = g.tensor(64, PlanTensor::kInput);
    const int32_t early = g.tensor(64), big = g.tensor(640), more = g.tensor(640), small = g.tensor(64);
    const int32_t late = g.tensor(640), y = g.tensor(704), z = g.tensor(64);
    g.nodes = {{{in}, {early}},   {{in}, {big}},     {{big}, {more}},
               {{more}, {small}}, {{small}, {late}}, join({late, early}, y, {0, 640}),
               {{y}, {z}}};
    g.plan();
    EXPECT_EQ(g.result.bytes, 64u + 640u + 704u);
    EXPECT_EQ(g.result.placed_bytes, 0u);
  }
}

// Against a simulation: every 16 bytes of a tensor are written with a tag and must still hold it at each use. A node
// leaves alone what lies in its place already: a part in its whole, an input in the result.
TEST(Planner, RandomGraphsKeepEveryLiveValue) {
  std::mt19937 rng(7);
  uint64_t placed = 0;
  for (int round = 0; round < 2000; ++round) {
    Graph g;
    std::vector<int32_t> pool = {g.tensor(16 * (1 + rng() % 8), PlanTensor::kInput), g.tensor(128, PlanTensor::kState)};
    const auto bytes_of = [&g](int32_t t) { return g.tensors[static_cast<size_t>(t)].bytes; };
    const int count = 1 + static_cast<int>(rng() % 30);
    for (int n = 0; n < count; ++n) {
      Graph::Node node;
      for (unsigned i = 0, k = 1 + rng() % 2; i < k; ++i) node.in.push_back(pool[rng() % pool.size()]);
      const unsigned what = rng() % 10;
      if (what < 2) {  // cut one input
        node.in.resize(1);
        const int64_t granules = bytes_of(node.in[0]) / 16;
        int64_t at = 0;
        for (unsigned o = 0, k = 1 + rng() % 3; o < k; ++o) {
          at = granules == 0 ? 0 : (rng() % 3 == 0 ? static_cast<int64_t>(rng()) % granules : at);
          const int64_t size = granules == 0 ? 0 : 1 + static_cast<int64_t>(rng()) % (granules - at);
          node.out.push_back(g.tensor(16 * size, PlanTensor::kValue, rng() % 9 == 0));
          node.at.push_back(16 * at);
          at = at + size < granules ? at + size : 0;
        }
      } else if (what < 5) {  // join some
        for (unsigned i = 0, k = rng() % 3; i < k; ++i) node.in.push_back(pool[rng() % pool.size()]);
        int64_t at = 0;
        for (const int32_t x : node.in) {
          node.at.push_back(at);
          at += bytes_of(x);
        }
        node.joins = true;
        node.out.push_back(g.tensor(at, PlanTensor::kValue, rng() % 6 == 0));
      } else {
        node.view = what == 5;
        node.inplace = node.view ? 1 : rng() % 4;
        const bool same = node.view || rng() % 2 == 0;
        node.out.push_back(g.tensor(same ? bytes_of(node.in[0]) : 16 * static_cast<int64_t>(rng() % 9),
                                    PlanTensor::kValue, rng() % 6 == 0));
        if (rng() % 9 == 0) node.region = 64 * static_cast<int64_t>(rng() % 5);
      }
      for (const int32_t y : node.out) pool.push_back(y);
      g.nodes.push_back(node);
    }
    g.plan();
    const uint64_t unclimbed = g.result.bytes;
    g.plan(/*body=*/false, /*tries=*/round % 2 == 0 ? 50 : 0);
    ASSERT_LE(g.result.bytes, unclimbed);
    ASSERT_GE(g.result.bytes, g.result.lower_bound);
    placed += g.result.placed_bytes;
    std::vector<int> memory(g.result.bytes / 16, -1);
    std::vector<std::vector<int>> content(g.tensors.size());
    for (size_t t = 0; t < g.tensors.size(); ++t) {
      for (int64_t k = 0; k < g.tensors[t].bytes / 16; ++k) content[t].push_back(static_cast<int>(t * 1000 + k));
    }
    const auto granule = [&](int32_t t) { return g.offsets[static_cast<size_t>(t)] / 16; };
    // `at` and `from`: granules of the part that is copied.
    const auto write = [&](int32_t t, size_t at, size_t size) {
      for (size_t k = at; k < at + size; ++k) memory[granule(t) + k] = content[static_cast<size_t>(t)][k];
    };
    const auto check = [&](int32_t t) {
      for (size_t k = 0; k < content[static_cast<size_t>(t)].size(); ++k) {
        ASSERT_EQ(memory[granule(t) + k], content[static_cast<size_t>(t)][k])
            << "tensor " << t << " in round " << round;
      }
    };
    for (int32_t t = 0; t < 2; ++t) write(t, 0, content[static_cast<size_t>(t)].size());
    size_t region = 0;
    for (const Graph::Node& n : g.nodes) {
      if (n.region >= 0) {
        for (int64_t k = 0; k < n.region / 16; ++k) memory[g.regions[region] / 16 + static_cast<uint64_t>(k)] = -2;
        ++region;
      }
      for (const int32_t x : n.in) check(x);
      // Contents first: writing one output must not be seen by the next.
      for (size_t o = 0; o < n.out.size(); ++o) {
        std::vector<int>& made = content[static_cast<size_t>(n.out[o])];
        const std::vector<int>& x = content[static_cast<size_t>(n.in[0])];
        if (n.joins) {
          made.clear();
          for (const int32_t p : n.in) {
            made.insert(made.end(), content[static_cast<size_t>(p)].begin(), content[static_cast<size_t>(p)].end());
          }
        } else if (!n.at.empty()) {
          const auto first = x.begin() + n.at[o] / 16;
          made.assign(first, first + static_cast<std::ptrdiff_t>(made.size()));
        } else if (n.view) {
          made = x;
        }
      }
      for (size_t o = 0; o < n.out.size(); ++o) {
        const int32_t y = n.out[o];
        if (n.joins) {
          size_t at = 0;
          for (const int32_t p : n.in) {
            const size_t size = content[static_cast<size_t>(p)].size();
            check(p);
            if (granule(p) != granule(y) + at) write(y, at, size);
            at += size;
          }
        } else if (n.at.empty()) {
          write(y, 0, content[static_cast<size_t>(y)].size());
        } else if (granule(y) != granule(n.in[0]) + static_cast<uint64_t>(n.at[o] / 16)) {
          check(n.in[0]);
          write(y, 0, content[static_cast<size_t>(y)].size());
        }
      }
      for (const int32_t y : n.out) check(y);
    }
    for (size_t t = 0; t < g.tensors.size(); ++t) {
      if (g.tensors[t].output || g.tensors[t].kind == PlanTensor::kState) check(static_cast<int32_t>(t));
    }
  }
  EXPECT_GT(placed, 100000u);
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
}  // namespace vireo::plan_test
