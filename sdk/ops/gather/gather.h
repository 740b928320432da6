// Reads of data at computed places. Indices are i32 or i64 in [-d, d); a negative one counts from the end. Every data
// type; no aliasing; kInvalidArgument for an index outside, with the outputs untouched.
//   Gather          y[a, k, b] = data[a, indices[k], b]      a: axes before `axis`, k: all of indices', b: axes after
//   GatherElements  y[i] = data[i with i_axis replaced by indices[i]]
//   GatherND        y[b, j, r] = data[b, indices[b, j, 0], ..., indices[b, j, m-1], r]     b: batch_dims axes
// Source: ONNX opset 13 "Gather", "GatherElements", "GatherND".
#ifndef VIREO_SDK_OPS_GATHER_GATHER_H_
#define VIREO_SDK_OPS_GATHER_GATHER_H_

#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {

// indices[at] in [0, extent), after checked_indices has passed.
inline int64_t read_index(const Tensor& indices, int64_t at, int64_t extent) {
  const int64_t i = read_integer(indices.dtype, indices.data, at);
  return i < 0 ? i + extent : i;
}

// Fails unless every index lies in [-extent, extent). `extents`: for element `at` of indices, extents[at % period].
inline Status check_indices(const KernelContext& ctx, const Tensor& indices, const int64_t* extents, int64_t period) {
  const int64_t n = indices.count();
  for (int64_t at = 0, k = 0; at < n; ++at, k = k + 1 == period ? 0 : k + 1) {
    const int64_t i = read_integer(indices.dtype, indices.data, at);
    if (i >= -extents[k] && i < extents[k]) continue;
    return ctx.fail(Status::kInvalidArgument, "index {} (element {}) is outside [-{},{})", i, at, extents[k],
                    extents[k]);
  }
  return Status::kOk;
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_GATHER_GATHER_H_
