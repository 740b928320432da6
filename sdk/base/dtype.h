// Element types. The numbers are those of ONNX's TensorProto.DataType (onnx.proto, IR version 14), so that a file,
// the C API and ONNX agree without a table.
#ifndef VIREO_SDK_BASE_DTYPE_H_
#define VIREO_SDK_BASE_DTYPE_H_

#include <stdint.h>

namespace vireo {

enum class DType : uint8_t {
  kNone = 0,  // absent optional input or output
  kF32 = 1,
  kU8 = 2,
  kI8 = 3,
  kU16 = 4,
  kI16 = 5,
  kI32 = 6,
  kI64 = 7,
  kString = 8,  // elements are StringRef (string.h)
  kBool = 9,    // one byte, 0 or 1
  kF16 = 10,
  kF64 = 11,
  kU32 = 12,
  kU64 = 13,
  kC64 = 14,   // two f32: real, imaginary
  kC128 = 15,  // two f64
  kBF16 = 16,
  kF8E4M3FN = 17,
  kF8E4M3FNUZ = 18,
  kF8E5M2 = 19,
  kF8E5M2FNUZ = 20,
  kU4 = 21,  // two to a byte, the first element in the low half; likewise kI4, kF4E2M1
  kI4 = 22,
  kF4E2M1 = 23,
  kF8E8M0 = 24,
  kU2 = 25,  // four to a byte, the first element in the lowest bits
  kI2 = 26,
  kF6E2M3 = 27,  // one to a byte
  kF6E3M2 = 28,
};

constexpr uint8_t kDTypeCount = 29;

// Bits that one element takes in a dense tensor; 0 for kNone and for values outside the enumeration.
int dtype_bits(DType t);
// Bytes of `count` dense elements, rounded up; `count` >= 0. Returns -1 on overflow or for kNone.
int64_t dtype_bytes(DType t, int64_t count);
// "float32", "int4", "string"...: numpy's name where it has one; "none" for kNone, "?" outside the enumeration.
const char* dtype_name(DType t);
bool dtype_is_float(DType t);    // f16, bf16, f32, f64, float8, float6, float4
bool dtype_is_integer(DType t);  // signed and unsigned, 2 to 64 bits; not bool
bool dtype_is_signed(DType t);   // signed integers and floats

}  // namespace vireo

#endif  // VIREO_SDK_BASE_DTYPE_H_
