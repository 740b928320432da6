// Walks of decision trees over rows of float32. A walk is a chain of loads that wait for each other, and of branches
// that nobody predicts: kTreeWalks of them go side by side, without branches.
#ifndef VIREO_DELEGATES_CPU_KERNELS_TREES_TREES_H_
#define VIREO_DELEGATES_CPU_KERNELS_TREES_TREES_H_

#include <stdint.h>

namespace vireo::cpu {

constexpr int kTreeWalks = 8;
constexpr uint32_t kTreeLeafMark = 0x80000000u;  // as kTreeLeaf: the other bits are the leaf's index

enum class TreeTest : uint8_t { kLeq = 0, kLt = 1, kGte = 2, kGt = 3 };  // x <= threshold: the way of `yes`

struct TreesF32 {
  TreeTest test = TreeTest::kLeq;  // of all nodes
  const uint32_t* features = nullptr;
  const float* thresholds = nullptr;
  const uint32_t* yes = nullptr;  // references: nodes, or marked leaves; a node's children stand behind it
  const uint32_t* no = nullptr;
  const uint8_t* missing_yes = nullptr;  // null, or whether a NaN goes the way of `yes`; else it compares like a number
};

struct TreeWalk {
  uint32_t reference;  // where it begins
  const float* row;
};
// leaves[i] = the leaf that walk i leads to, for `count` of them, kTreeWalks at most.
void tree_leaves_f32(const TreesF32& trees, const TreeWalk* walks, int count, uint32_t* leaves);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_TREES_TREES_H_
