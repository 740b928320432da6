// From a data type at run time to a C++ type: `dispatch_float(t, f)` calls `f(T{})`. kUnsupported for types outside the
// group. 16-bit floats come as F16 and BF16, which convert to float.
#ifndef VIREO_SDK_OPS_SHARED_DISPATCH_H_
#define VIREO_SDK_OPS_SHARED_DISPATCH_H_

#include <stdint.h>

#include "sdk/base/dtype.h"
#include "sdk/base/half.h"
#include "sdk/base/status.h"

namespace vireo {

// The type in which a kernel computes on elements of type T.
template <class T>
struct ComputeType {
  using type = T;
};
template <>
struct ComputeType<F16> {
  using type = float;
};
template <>
struct ComputeType<BF16> {
  using type = float;
};
template <class T>
using compute_t = typename ComputeType<T>::type;

template <class F>
Status dispatch_float(DType t, const F& f) {
  switch (t) {
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      return f(double{});
    case DType::kF16:
      return f(F16{});
    case DType::kBF16:
      return f(BF16{});
    default:
      return Status::kUnsupported;
  }
}

template <class F>
Status dispatch_integer(DType t, const F& f) {
  switch (t) {
    case DType::kI8:
      return f(int8_t{});
    case DType::kU8:
      return f(uint8_t{});
    case DType::kI16:
      return f(int16_t{});
    case DType::kU16:
      return f(uint16_t{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kU32:
      return f(uint32_t{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kU64:
      return f(uint64_t{});
    default:
      return Status::kUnsupported;
  }
}

// Floats and whole-byte integers.
template <class F>
Status dispatch_number(DType t, const F& f) {
  return dtype_is_float(t) ? dispatch_float(t, f) : dispatch_integer(t, f);
}

// An unsigned type of the element's size, for kernels that only move data. Whole-byte types; strings and complex128
// come as Bytes16.
struct Bytes16 {
  uint64_t part[2];
};
template <class F>
Status dispatch_size(DType t, const F& f) {
  switch (dtype_bits(t)) {
    case 8:
      return f(uint8_t{});
    case 16:
      return f(uint16_t{});
    case 32:
      return f(uint32_t{});
    case 64:
      return f(uint64_t{});
    case 128:
      return f(Bytes16{});
    default:
      return Status::kUnsupported;
  }
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_DISPATCH_H_
