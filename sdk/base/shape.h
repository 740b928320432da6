// Shapes. A dimension is a known extent >= 0, or a handle to an expression over symbolic dimensions.
//
// Handles let the same shape function serve the converter, where dimensions may be symbolic, and the device, where
// they are numbers. Two other designs were weighed: shape functions as templates over the dimension type (every
// operator compiled twice, and a template on the device for the converter's sake), and probing concrete shape functions
// at sample points to fit expressions (no proof between the samples). Handles cost one comparison on the device.
#ifndef VIREO_SDK_BASE_SHAPE_H_
#define VIREO_SDK_BASE_SHAPE_H_

#include <stdint.h>

#include "sdk/base/dtype.h"

namespace vireo {

using Dim = int64_t;

constexpr int kMaxRank = 8;

// Handles occupy the lowest 2^32 values of int64, so that ordinary negative numbers (a slice's start, the -1 of
// Reshape) stay numbers.
constexpr Dim kFirstHandle = INT64_MIN;
constexpr Dim kLastHandle = INT64_MIN + 0xFFFFFFFFll;
constexpr bool is_symbolic(Dim d) { return d <= kLastHandle; }
constexpr Dim handle_of(uint32_t id) { return kFirstHandle + static_cast<Dim>(id); }
constexpr uint32_t handle_id(Dim d) { return static_cast<uint32_t>(d - kFirstHandle); }

struct Shape {
  int32_t rank = 0;
  Dim dims[kMaxRank] = {};

  Dim operator[](int i) const { return dims[i]; }
  Dim& operator[](int i) { return dims[i]; }
  bool is_static() const {
    for (int i = 0; i < rank; ++i) {
      if (is_symbolic(dims[i])) return false;
    }
    return true;
  }
};

inline bool operator==(const Shape& a, const Shape& b) {
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i) {
    if (a.dims[i] != b.dims[i]) return false;
  }
  return true;
}
inline bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }

// Elements of a static shape; -1 when a dimension is symbolic or negative, or the product overflows int64.
int64_t element_count(const Shape& shape);
// Product of dims[begin, end) of a static, verified shape (no overflow check).
inline int64_t product(const Shape& s, int begin, int end) {
  int64_t n = 1;
  for (int i = begin; i < end; ++i) n *= s.dims[i];
  return n;
}
// Maps an axis in [-rank, rank) to [0, rank); -1 when outside.
inline int normalize_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return -1;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

struct TensorType {
  DType dtype = DType::kNone;
  Shape shape;
};
inline bool operator==(const TensorType& a, const TensorType& b) { return a.dtype == b.dtype && a.shape == b.shape; }
inline bool operator!=(const TensorType& a, const TensorType& b) { return !(a == b); }

// Bytes of a dense tensor of this static type; -1 on overflow, for symbolic dimensions and for kNone.
int64_t tensor_bytes(const TensorType& type);

}  // namespace vireo

#endif  // VIREO_SDK_BASE_SHAPE_H_
