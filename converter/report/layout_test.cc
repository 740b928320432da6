#include "converter/report/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

namespace vireo::report::layout_test {
namespace {

struct Drawing {
  std::vector<int32_t> widths;
  std::vector<LayoutEdge> edges;
  Layout layout;
};

Drawing draw(std::vector<int32_t> widths, const std::vector<std::pair<int, int>>& edges) {
  Drawing d{std::move(widths), {}, {}};
  for (const auto& [from, to] : edges) d.edges.push_back({from, to, {}, false});
  d.layout = lay_out(d.widths, &d.edges);
  return d;
}

// What every picture promises: lines go down, nothing lies on anything else, all of it is inside.
void expect_readable(const Drawing& d) {
  ASSERT_EQ(d.layout.at.size(), d.widths.size());
  std::map<int32_t, std::vector<std::pair<int32_t, int32_t>>> rows;  // by height: left and right ends
  for (size_t i = 0; i < d.widths.size(); ++i) {
    const Point p = d.layout.at[i];
    EXPECT_GE(2 * p.x, d.widths[i] - 2) << i;
    EXPECT_LE(p.x + d.widths[i] / 2, d.layout.width + 1) << i;
    EXPECT_LE(p.y + kItemHeight, d.layout.height) << i;
    rows[p.y].emplace_back(p.x - d.widths[i] / 2, p.x + d.widths[i] / 2);
  }
  for (auto& [y, ends] : rows) {
    std::sort(ends.begin(), ends.end());
    for (size_t i = 1; i < ends.size(); ++i) EXPECT_GE(ends[i].first, ends[i - 1].second) << "at height " << y;
  }
  for (const LayoutEdge& e : d.edges) {
    if (e.from >= e.to) continue;
    int32_t y = d.layout.at[static_cast<size_t>(e.from)].y;
    for (const Point& p : e.by) {
      EXPECT_GT(p.y, y);
      y = p.y;
    }
    EXPECT_GT(d.layout.at[static_cast<size_t>(e.to)].y, y);
  }
}

TEST(Layout, NothingToDraw) {
  const Drawing d = draw({}, {});
  EXPECT_EQ(d.layout.height, 0);
}

TEST(Layout, AChainIsALine) {
  const Drawing d = draw({100, 60, 180, 90}, {{0, 1}, {1, 2}, {2, 3}});
  expect_readable(d);
  for (const Point& p : d.layout.at) EXPECT_EQ(p.x, d.layout.at[0].x);
  EXPECT_EQ(d.layout.width, 181);
}

// 0 -> 1 -> 2 -> 3 and 0 -> 3: the short way passes beside the long one.
TEST(Layout, LongLinesGoAroundNodes) {
  const Drawing d = draw({100, 100, 100, 100}, {{0, 1}, {1, 2}, {2, 3}, {0, 3}});
  expect_readable(d);
  ASSERT_FALSE(d.edges[3].by.empty());
  for (const Point& p : d.edges[3].by) {
    for (const size_t i : {1u, 2u}) {
      if (p.y < d.layout.at[i].y || p.y > d.layout.at[i].y + kItemHeight) continue;
      EXPECT_GE(std::abs(p.x - d.layout.at[i].x), 50);
    }
  }
}

// Two branches that cross in the order in which they are given need not cross in the picture.
TEST(Layout, CrossingsThatNeedNotBeAreGone) {
  const Drawing d = draw({80, 80, 80, 80, 80, 80}, {{0, 1}, {0, 2}, {2, 3}, {1, 4}, {3, 5}, {4, 5}});
  expect_readable(d);
  const auto& at = d.layout.at;
  EXPECT_EQ(at[1].x < at[2].x, at[4].x < at[3].x);
}

// An operand that is first used far down stands there and not at the top.
TEST(Layout, SourcesStandAboveTheirFirstReader) {
  const Drawing d = draw({80, 80, 80, 80, 80}, {{0, 2}, {2, 3}, {3, 4}, {1, 4}});
  EXPECT_EQ(d.layout.at[1].y, d.layout.at[3].y);
}

std::vector<std::pair<int, int>> random_edges(int nodes, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<std::pair<int, int>> edges;
  for (int to = 1; to < nodes; ++to) {
    const int inputs = 1 + static_cast<int>(rng() % 3);
    for (int k = 0; k < inputs; ++k) {
      const int back = rng() % 8 == 0 ? 1 + static_cast<int>(rng() % static_cast<unsigned>(to))
                                      : 1 + static_cast<int>(rng() % static_cast<unsigned>(std::min(to, 4)));
      edges.emplace_back(to - back, to);
    }
  }
  return edges;
}

TEST(Layout, RandomGraphsAreReadable) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const int nodes = 2 + static_cast<int>(seed) * 5;
    SCOPED_TRACE(seed);
    expect_readable(draw(std::vector<int32_t>(static_cast<size_t>(nodes), 90), random_edges(nodes, seed)));
  }
}

TEST(Layout, TheSameInputGivesTheSamePicture) {
  const auto edges = random_edges(400, 7);
  const Drawing a = draw(std::vector<int32_t>(400, 90), edges), b = draw(std::vector<int32_t>(400, 90), edges);
  for (size_t i = 0; i < a.layout.at.size(); ++i) {
    EXPECT_EQ(a.layout.at[i].x, b.layout.at[i].x);
    EXPECT_EQ(a.layout.at[i].y, b.layout.at[i].y);
  }
}

// Every tenth of 3,000 nodes reads a mask from far above: such lines become stumps before they outnumber the nodes.
TEST(Layout, ManyFarLinesAreCut) {
  std::vector<std::pair<int, int>> edges;
  for (int i = 1; i < 3000; ++i) edges.emplace_back(i - 1, i);
  for (int i = 100; i < 3000; i += 10) edges.emplace_back(i - 97, i);
  for (int k = 0; k < 40; ++k) edges.emplace_back(k, 2999);
  const Drawing d = draw(std::vector<int32_t>(3000, 90), edges);
  expect_readable(d);
  size_t points = 0, cut = 0;
  for (const LayoutEdge& e : d.edges) points += e.by.size(), cut += e.cut ? 1 : 0;
  EXPECT_GT(cut, 0u);
  EXPECT_LT(points, 60000u);
}

// A graph that is not in order (a broken file) is drawn somehow.
TEST(Layout, LinesThatGoBackDoNoHarm) {
  const Drawing d = draw({80, 80, 80}, {{0, 1}, {2, 1}, {1, 1}, {1, 2}});
  EXPECT_TRUE(d.edges[1].cut);
  EXPECT_TRUE(d.edges[2].cut);
}

}  // namespace
}  // namespace vireo::report::layout_test
