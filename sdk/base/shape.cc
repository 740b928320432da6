#include "sdk/base/shape.h"

#include "sdk/base/checked.h"

namespace vireo {

int64_t element_count(const Shape& shape) {
  int64_t n = 1;
  bool zero = false;
  for (int i = 0; i < shape.rank; ++i) {
    if (shape.dims[i] < 0) return -1;
    if (shape.dims[i] == 0) {
      zero = true;  // the others are still checked for being known
      continue;
    }
    if (!checked_mul(n, shape.dims[i], &n)) return -1;
  }
  return zero ? 0 : n;
}

int64_t tensor_bytes(const TensorType& type) {
  const int64_t n = element_count(type.shape);
  return n < 0 ? -1 : dtype_bytes(type.dtype, n);
}

}  // namespace vireo
