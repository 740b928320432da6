#include "delegates/cpu/kernels/trees/trees.h"

#include <cmath>
#include <random>

#include "delegates/cpu/kernels/testing.h"

namespace vireo::cpu {
namespace {

struct Forest {
  std::vector<uint32_t> features, yes, no, roots;
  testing::Floats thresholds{1000};
  std::vector<uint8_t> missing;
  uint32_t leaves = 0;

  // A random tree of at most `depth` steps, its root's reference.
  uint32_t grow(std::mt19937& rng, int depth) {
    if (depth == 0 || rng() % 5 == 0) return kTreeLeafMark | leaves++;
    const auto node = static_cast<uint32_t>(features.size());
    features.push_back(rng() % 7);
    thresholds[node] = static_cast<float>(static_cast<int>(rng() % 9) - 4) / 4;
    missing.push_back(rng() % 2);
    yes.push_back(0);
    no.push_back(0);
    const uint32_t to_yes = grow(rng, depth - 1), to_no = grow(rng, depth - 1);
    yes[node] = to_yes;
    no[node] = to_no;
    return node;
  }
};

TEST(Trees, EachWalkAsAlone) {
  std::mt19937 rng(5);
  Forest f;
  for (int i = 0; i < 12; ++i) f.roots.push_back(f.grow(rng, i % 4 == 0 ? i / 4 : 6));  // the first one is a leaf
  ASSERT_LE(f.features.size(), 1000u);
  testing::Floats x(size_t{5} * 7);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = i % 6 == 5 ? NAN : static_cast<float>(static_cast<int>(rng() % 9) - 4) / 4;
  for (const TreeTest test : {TreeTest::kLeq, TreeTest::kLt, TreeTest::kGte, TreeTest::kGt}) {
    for (const bool missing : {false, true}) {
      const TreesF32 trees{test,         f.features.data(), f.thresholds.data(),
                           f.yes.data(), f.no.data(),       missing ? f.missing.data() : nullptr};
      for (int count = 1; count <= kTreeWalks; ++count) {
        TreeWalk walks[kTreeWalks];
        uint32_t leaves[kTreeWalks];
        for (int i = 0; i < count; ++i) {
          walks[i].reference = f.roots[rng() % f.roots.size()];
          walks[i].row = x.data() + rng() % 5 * 7;
        }
        tree_leaves_f32(trees, walks, count, leaves);
        for (int i = 0; i < count; ++i) {
          uint32_t at = walks[i].reference;
          while ((at & kTreeLeafMark) == 0) {
            const float v = walks[i].row[f.features[at]], t = f.thresholds[at];
            bool yes = test == TreeTest::kLeq   ? v <= t
                       : test == TreeTest::kLt  ? v < t
                       : test == TreeTest::kGte ? v >= t
                                                : v > t;
            if (missing && f.missing[at] != 0 && std::isnan(v)) yes = true;
            at = (yes ? f.yes : f.no)[at];
          }
          ASSERT_EQ(leaves[i], at & ~kTreeLeafMark);
        }
      }
    }
  }
}

}  // namespace
}  // namespace vireo::cpu
