// Shape: the input's extents from `start` to `end` as i64 [n].  Size: their product as an i64 scalar.
// Source: ONNX opset 25 "Shape", "Size".
#ifndef VIREO_SDK_OPS_SHAPE_OF_SHAPE_OF_H_
#define VIREO_SDK_OPS_SHAPE_OF_SHAPE_OF_H_

#include <stdint.h>

namespace vireo {

// An end of Shape's range in [0, rank].
inline int clamp_to_rank(int64_t at, int rank) {
  if (at < 0) at += rank;
  return static_cast<int>(at < 0 ? 0 : at > rank ? rank : at);
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHAPE_OF_SHAPE_OF_H_
