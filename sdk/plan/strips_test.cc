// Nodes of rows at random: run strip by strip they make what they make whole, each row once, from rows that are there.
#include "sdk/plan/strips.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace vireo::strips_test {
namespace {

// A row is a number: weights of the rows that a window has, and of the other inputs' row.
struct Net {
  std::vector<StripNode> nodes;
  std::vector<StripValue> values;
  std::vector<std::vector<int32_t>> inputs;

  explicit Net(uint32_t seed) {
    std::mt19937 rng(seed);
    const auto draw = [&rng](int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint32_t>(n)); };
    StripValue x;
    x.rows = 9 + draw(40);
    x.whole = true;
    values.push_back(x);
    const auto count = static_cast<size_t>(1 + draw(7));
    inputs.resize(count);
    for (size_t k = 0; k < count; ++k) {
      const auto from =
          static_cast<int32_t>(values.size() - 1 - static_cast<size_t>(draw(2) != 0 ? 0 : draw(2)) % values.size());
      StripNode n;
      StripValue y;
      inputs[k] = {from};
      y.rows = values[static_cast<size_t>(from)].rows;
      if (draw(4) != 0) {
        n.window = 0;
        n.taps = 1 + draw(5);
        n.stride = 1 + draw(2);
        n.pad = draw(n.taps);
        const int64_t below = draw(n.taps);
        y.rows = (y.rows + n.pad + below - n.taps) / n.stride + 1;
        if (y.rows < 1) {
          n.pad = 0;
          n.taps = 1;
          y.rows = (values[static_cast<size_t>(from)].rows - 1) / n.stride + 1;
        }
      }
      for (size_t v = 0; v < values.size(); ++v) {
        if (static_cast<int32_t>(v) != from && values[v].rows == y.rows && draw(2) == 0)
          inputs[k].push_back(static_cast<int32_t>(v));
      }
      y.made = true;
      y.whole = draw(5) == 0;
      n.output = static_cast<int32_t>(values.size());
      values.push_back(y);
      nodes.push_back(n);
    }
    for (size_t k = 0; k < count; ++k) nodes[k].inputs = {inputs[k].data(), inputs[k].size()};
    values.back().whole = true;
  }
};

uint64_t mixed(uint64_t h, uint64_t v) { return (h ^ v) * 0x9E3779B97F4A7C15u + 1; }

TEST(Strips, MakeWhatWholeValuesMake) {
  for (uint32_t seed = 0; seed < 3000 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Net net(seed);
    std::vector<std::vector<uint64_t>> want(net.values.size());
    for (int64_t r = 0; r < net.values[0].rows; ++r) want[0].push_back(static_cast<uint64_t>(r) + 1);
    for (const StripNode& n : net.nodes) {
      for (int64_t r = 0; r < net.values[static_cast<size_t>(n.output)].rows; ++r) {
        uint64_t h = 0;
        for (size_t i = 0; i < n.inputs.size(); ++i) {
          const auto& x = want[static_cast<size_t>(n.inputs[i])];
          const bool window = static_cast<int32_t>(i) == n.window;
          for (int64_t t = 0; t < (window ? n.taps : 1); ++t) {
            const int64_t at = window ? r * n.stride - n.pad + t : r;
            h = mixed(h, at < 0 || at >= static_cast<int64_t>(x.size()) ? 0 : x[static_cast<size_t>(at)]);
          }
        }
        want[static_cast<size_t>(n.output)].push_back(h);
      }
    }
    const int64_t height = 1 + seed % 9;
    Strips strips({net.nodes.data(), net.nodes.size()}, {net.values.data(), net.values.size()}, height);
    std::vector<std::vector<uint64_t>> have(net.values.size());  // what is in the values' memory
    have[0] = want[0];
    const bool done = strips.run(
        [&](int32_t v, int64_t rows) {
          auto& there = have[static_cast<size_t>(v)];
          ASSERT_LE(static_cast<size_t>(rows), there.size());
          there.erase(there.begin(), there.begin() + rows);
        },
        [&](const StripCall& c) {
          const StripNode& n = net.nodes[c.node];
          for (int64_t r = c.first; r < c.first + c.count; ++r) {
            uint64_t h = 0;
            for (size_t i = 0; i < n.inputs.size(); ++i) {
              const auto& x = have[static_cast<size_t>(n.inputs[i])];
              const int64_t low = net.values[static_cast<size_t>(n.inputs[i])].low;
              const bool window = static_cast<int32_t>(i) == n.window;
              for (int64_t t = 0; t < (window ? n.taps : 1); ++t) {
                // As a kernel sees it: `read` rows with padding around them.
                const int64_t at = window ? (r - c.first) * n.stride - c.above + t : r - c.first;
                const int64_t base = window ? c.from - low : c.first - low;
                if (window && (at < 0 || at >= c.read)) {
                  EXPECT_TRUE(at < 0 || at < c.read + c.below);
                  h = mixed(h, 0);
                  continue;
                }
                EXPECT_GE(base + at, 0);
                if (base + at >= static_cast<int64_t>(x.size())) {
                  ADD_FAILURE() << "a row that is not there";
                  return false;
                }
                h = mixed(h, x[static_cast<size_t>(base + at)]);
              }
            }
            EXPECT_EQ(h, want[static_cast<size_t>(n.output)][static_cast<size_t>(r)]);
            have[static_cast<size_t>(n.output)].push_back(h);
          }
          return true;
        });
    EXPECT_TRUE(done);
    for (size_t v = 0; v < net.values.size(); ++v) {
      EXPECT_EQ(net.values[v].done, net.values[v].rows);
      if (net.values[v].whole) {
        EXPECT_EQ(have[v], want[v]);
      }
    }
  }
}

// A value between two windows of three rows keeps two rows and a strip.
TEST(Strips, KeepFewRows) {
  const int32_t x[] = {0}, y[] = {1};
  StripNode nodes[2];
  nodes[0].output = 1;
  nodes[0].inputs = {x, 1};
  nodes[1].output = 2;
  nodes[1].inputs = {y, 1};
  for (StripNode& n : nodes) {
    n.window = 0;
    n.taps = 3;
    n.pad = 1;
  }
  StripValue values[3];
  for (StripValue& v : values) v.rows = 100;
  values[0].whole = values[2].whole = true;
  values[1].made = values[2].made = true;
  EXPECT_TRUE(Strips(nodes, values, 8).run([](int32_t, int64_t) {}, [](const StripCall&) { return true; }));
  EXPECT_EQ(values[1].most, 10);
}

}  // namespace
}  // namespace vireo::strips_test
