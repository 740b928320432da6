// Dense copies of strided tensors: Transpose, and whatever else is a change of strides (Slice, Expand, DepthToSpace).
#ifndef VIREO_DELEGATES_CPU_KERNELS_TRANSPOSE_TRANSPOSE_H_
#define VIREO_DELEGATES_CPU_KERNELS_TRANSPOSE_TRANSPOSE_H_

#include <stdint.h>

#include "sdk/base/parallel.h"

namespace vireo::cpu {

// y is dense with `dims`; y[i0, i1, ...] = x[i0 * strides[0] + i1 * strides[1] + ...]. A transpose by `perm` has
// dims[i] = in_dims[perm[i]] and strides[i] = in_strides[perm[i]]. Strides may be 0 or negative.
struct StridedCopy {
  static constexpr int kMaxRank = 8;
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};  // in elements
};

// Elements of `element_bytes` = 1, 2, 4, 8 or 16; x points at element (0, 0, ...), y overlaps nothing that is read.
void strided_copy(const StridedCopy& shape, int64_t element_bytes, const void* x, void* y, const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_TRANSPOSE_TRANSPOSE_H_
