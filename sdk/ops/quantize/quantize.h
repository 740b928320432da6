// QuantizeLinear    y = saturate(rne(x / scale) + zero_point);   to float8: y = cast(x / scale);   to float6, float4:
//                   y = cast(x / scale + zero_point)
// DequantizeLinear  y = (x - zero_point) * scale, of float8 and float4 without the zero point
//   real side     f32, f16, bf16; QuantizeLinear also takes i32
//   coded side    i8, u8, i16, u16, i4, u4, i2, u2, float8 (4 kinds), float6 (2), f4e2m1; DequantizeLinear also takes
//   i32 scale         f32, f16, bf16, f8e8m0 (QuantizeLinear: i32 too); zero_point: absent, or the coded type in
//   scale's shape The division is in float32, rounded to `precision`; the product in float32. alias y may be x; scratch
//   none
// Source: ONNX opset 28 "QuantizeLinear", "DequantizeLinear".
#ifndef VIREO_SDK_OPS_QUANTIZE_QUANTIZE_H_
#define VIREO_SDK_OPS_QUANTIZE_QUANTIZE_H_

#include <stdint.h>

#include "sdk/base/narrow_float.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {

// Range of an integer type of up to 16 bits; false for other types.
inline bool small_integer_range(DType t, int32_t* low, int32_t* high) {
  const int bits = dtype_bits(t);
  if (!dtype_is_integer(t) || bits > 16) return false;
  *low = dtype_is_signed(t) ? -(1 << (bits - 1)) : 0;
  *high = dtype_is_signed(t) ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  return true;
}

// The bits of element i of a type of up to 16 bits.
inline uint16_t read_code(DType t, const void* data, int64_t i) {
  const auto* p = static_cast<const uint8_t*>(data);
  switch (dtype_bits(t)) {
    case 2:
      return static_cast<uint16_t>(p[i >> 2] >> ((i & 3) * 2) & 3);
    case 4:
      return static_cast<uint16_t>(p[i >> 1] >> ((i & 1) * 4) & 15);
    case 16:
      return read_element<uint16_t>(data, i);
    default:
      return p[i];
  }
}
inline void write_code(DType t, void* data, int64_t i, unsigned code) {
  auto* p = static_cast<uint8_t*>(data);
  switch (dtype_bits(t)) {
    case 2: {
      const int shift = static_cast<int>(i & 3) * 2;
      p[i >> 2] = static_cast<uint8_t>((p[i >> 2] & ~(3u << shift)) | (code & 3u) << shift);
      return;
    }
    case 4: {
      const int shift = static_cast<int>(i & 1) * 4;
      p[i >> 1] = static_cast<uint8_t>((p[i >> 1] & ~(15u << shift)) | (code & 15u) << shift);
      return;
    }
    case 16: {
      const uint16_t v = static_cast<uint16_t>(code);
      memcpy(p + 2 * i, &v, sizeof(v));
      return;
    }
    default:
      p[i] = static_cast<uint8_t>(code);
  }
}

// An integer element of 2 to 16 bits, sign extended.
inline int32_t read_small_integer(DType t, const void* data, int64_t i) {
  const int bits = dtype_bits(t);
  const int32_t code = read_code(t, data, i);
  return dtype_is_signed(t) && code >> (bits - 1) != 0 ? code - (1 << bits) : code;
}

// A real element, or a power of two.
inline float read_float(DType t, const void* data, int64_t i) {
  switch (t) {
    case DType::kF32:
      return read_element<float>(data, i);
    case DType::kF16:
      return f16_to_f32(read_element<uint16_t>(data, i));
    case DType::kBF16:
      return bf16_to_f32(read_element<uint16_t>(data, i));
    case DType::kI32:
      return static_cast<float>(read_element<int32_t>(data, i));
    default:
      return static_cast<float>(e8m0_to_f64(static_cast<uint8_t>(read_code(t, data, i))));
  }
}
inline void write_float(DType t, void* data, int64_t i, float v) {
  switch (t) {
    case DType::kF16:
      write_code(t, data, i, f32_to_f16(v));
      return;
    case DType::kBF16:
      write_code(t, data, i, f32_to_bf16(v));
      return;
    default:
      memcpy(static_cast<uint8_t*>(data) + 4 * i, &v, sizeof(v));
  }
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_QUANTIZE_QUANTIZE_H_
