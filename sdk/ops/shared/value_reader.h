// Reads elements of whole-byte tensors as numbers, for shape functions' known contents.
#ifndef VIREO_SDK_OPS_SHARED_VALUE_READER_H_
#define VIREO_SDK_OPS_SHARED_VALUE_READER_H_

#include <stdint.h>
#include <string.h>

#include "sdk/base/dtype.h"
#include "sdk/base/half.h"
#include "sdk/base/shape.h"

namespace vireo {

template <class T>
T read_element(const void* data, int64_t i) {
  T v;
  memcpy(&v, static_cast<const uint8_t*>(data) + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return v;
}

// Integers and booleans; 0 for other types.
inline int64_t read_integer(DType t, const void* data, int64_t i) {
  switch (t) {
    case DType::kI64:
      return read_element<int64_t>(data, i);
    case DType::kU64:
      return static_cast<int64_t>(read_element<uint64_t>(data, i));
    case DType::kI32:
      return read_element<int32_t>(data, i);
    case DType::kU32:
      return read_element<uint32_t>(data, i);
    case DType::kI16:
      return read_element<int16_t>(data, i);
    case DType::kU16:
      return read_element<uint16_t>(data, i);
    case DType::kI8:
      return read_element<int8_t>(data, i);
    case DType::kU8:
    case DType::kBool:
      return read_element<uint8_t>(data, i);
    default:
      return 0;
  }
}

// An integer for a shape function. The lowest values of int64 are handles there (shape.h); a file that says INT64_MIN
// for "from the start" means any number that far down.
inline int64_t read_dim(DType t, const void* data, int64_t i) {
  const int64_t v = read_integer(t, data, i);
  return is_symbolic(v) ? kLastHandle + 1 : v;
}

// Floats, else the integer's value.
inline double read_real(DType t, const void* data, int64_t i) {
  switch (t) {
    case DType::kF32:
      return static_cast<double>(read_element<float>(data, i));
    case DType::kF64:
      return read_element<double>(data, i);
    case DType::kF16:
      return static_cast<double>(f16_to_f32(read_element<uint16_t>(data, i)));
    case DType::kBF16:
      return static_cast<double>(bf16_to_f32(read_element<uint16_t>(data, i)));
    default:
      return static_cast<double>(read_integer(t, data, i));
  }
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_VALUE_READER_H_
