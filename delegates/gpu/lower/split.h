// Products of few tiles, and attention of few queries, would leave most of a device idle: several workgroups share the
// depth of a tile, or the keys of a query.
#ifndef VIREO_DELEGATES_GPU_LOWER_SPLIT_H_
#define VIREO_DELEGATES_GPU_LOWER_SPLIT_H_

#include "delegates/gpu/lower/work.h"

namespace vireo::gpu {

// What the sums of a split product take at most: kMostGroups tiles of 64 x 64 sums.
constexpr uint64_t kMostSplitBytes = uint64_t{512} * 64 * 64 * 4;

// ... and the sums of split attention.
constexpr uint64_t kMostShareBytes = uint64_t{16} << 20;

// Behind fuse(). Each share writes its sums; a chain adds them up, always in the same order, and goes on with what the
// epilogue was.
void split_depth(Lowering* lowering);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_LOWER_SPLIT_H_
