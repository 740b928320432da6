#include "delegates/cpu/kernels/trees/trees.h"

namespace vireo::cpu {
namespace {

template <TreeTest kTest>
bool holds(float x, float t) {
  return kTest == TreeTest::kLeq ? x <= t : kTest == TreeTest::kLt ? x < t : kTest == TreeTest::kGte ? x >= t : x > t;
}

// Walks that have ended stay where they are: they go through node 0 and forget it.
template <TreeTest kTest, bool kMissing>
void walk(const TreesF32& trees, const TreeWalk* walks, int count, uint32_t* leaves) {
  const uint32_t* const features = trees.features;
  const float* const thresholds = trees.thresholds;
  const uint32_t* const children[2] = {trees.no, trees.yes};
  uint32_t at[kTreeWalks];
  const float* row[kTreeWalks];
  uint32_t all = kTreeLeafMark;
  for (int i = 0; i < kTreeWalks; ++i) {
    const TreeWalk& from = walks[i < count ? i : 0];
    at[i] = from.reference;
    row[i] = from.row;
    all &= at[i];
  }
  while (all == 0) {
    all = kTreeLeafMark;
#pragma GCC unroll 8
    for (int i = 0; i < kTreeWalks; ++i) {
      const bool ended = (at[i] & kTreeLeafMark) != 0;
      const uint32_t node = ended ? 0 : at[i];
      const float x = row[i][features[node]];
      bool yes = holds<kTest>(x, thresholds[node]);
      if (kMissing) yes |= (x != x) & (trees.missing_yes[node] != 0);
      const uint32_t next = children[yes ? 1 : 0][node];
      at[i] = ended ? at[i] : next;
      all &= at[i];
    }
  }
  for (int i = 0; i < count; ++i) leaves[i] = at[i] & ~kTreeLeafMark;
}

template <TreeTest kTest>
void walk_of(const TreesF32& trees, const TreeWalk* walks, int count, uint32_t* leaves) {
  (trees.missing_yes != nullptr ? walk<kTest, true> : walk<kTest, false>)(trees, walks, count, leaves);
}

}  // namespace

void tree_leaves_f32(const TreesF32& trees, const TreeWalk* walks, int count, uint32_t* leaves) {
  switch (trees.test) {
    case TreeTest::kLeq:
      return walk_of<TreeTest::kLeq>(trees, walks, count, leaves);
    case TreeTest::kLt:
      return walk_of<TreeTest::kLt>(trees, walks, count, leaves);
    case TreeTest::kGte:
      return walk_of<TreeTest::kGte>(trees, walks, count, leaves);
    case TreeTest::kGt:
      return walk_of<TreeTest::kGt>(trees, walks, count, leaves);
  }
}

}  // namespace vireo::cpu
