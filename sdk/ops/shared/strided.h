// Copies between strided views: what Transpose, Slice, Concat, Expand and their like have in common.
#ifndef VIREO_SDK_OPS_SHARED_STRIDED_H_
#define VIREO_SDK_OPS_SHARED_STRIDED_H_

#include <stdint.h>

#include "sdk/base/parallel.h"
#include "sdk/base/shape.h"

namespace vireo {

// Element [i0, i1, ...] of a view lies at element `offset + sum i_k strides[k]` of `data`. Strides count elements; they
// may be negative, and 0 in a source (broadcast).
struct StridedView {
  int64_t offset = 0;
  int64_t strides[kMaxRank] = {};
};

// Row-major strides of a dense tensor.
StridedView dense_view(const Shape& shape);

// dst[i] = src[i] for every index i of the box `extents`; the two do not overlap, or they are one run of elements at
// one place, and nothing is done. Any data type; elements smaller than a byte are copied one by one and leave their
// neighbours in the byte alone. What is worth several threads is cut along the outermost dimension.
void copy_strided(DType dtype, const Shape& extents, const void* src, const StridedView& from, void* dst,
                  const StridedView& to, const Parallel& parallel = Parallel());

// dst[i] = *value (one element) for every index i of the box.
void fill_strided(DType dtype, const Shape& extents, const void* value, void* dst, const StridedView& to);

// Steps `index` to the next one of the box in row-major order; false after the last.
inline bool next_index(const Shape& extents, int64_t* index) {
  for (int k = extents.rank - 1; k >= 0; --k) {
    if (++index[k] < extents[k]) return true;
    index[k] = 0;
  }
  return false;
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_STRIDED_H_
