// Products of 8-bit integers, signed or not on either side, through one path: an unsigned byte with its top bit flipped
// is the signed byte 128 below, so that (x - zero_point) needs one instantiation instead of four.
#ifndef VIREO_SDK_OPS_SHARED_INTEGER_PRODUCT_H_
#define VIREO_SDK_OPS_SHARED_INTEGER_PRODUCT_H_

#include <stdint.h>

#include "sdk/ops/kernel.h"

namespace vireo {

// An 8-bit operand with its zero point: one for all, or one for each row or column.
struct ByteOperand {
  const uint8_t* data;
  uint8_t flip;                // 0x80 for uint8, 0 for int8
  const uint8_t* zero_points;  // null: 0
  bool many;

  ByteOperand(const Tensor& t, const Tensor* zero_point)
      : data(t.as<const uint8_t>()),
        flip(t.dtype == DType::kU8 ? 0x80 : 0),
        zero_points(zero_point != nullptr ? zero_point->as<const uint8_t>() : nullptr),
        many(zero_point != nullptr && zero_point->count() != 1) {}

  // The byte as a number, 128 too low if unsigned; so is zero().
  int32_t value(uint8_t byte) const { return static_cast<int8_t>(byte ^ flip); }
  int32_t zero(int64_t i) const { return value(zero_points == nullptr ? 0 : zero_points[many ? i : 0]); }
};

inline bool is_byte(DType t) { return t == DType::kI8 || t == DType::kU8; }
inline bool is_half_word(DType t) { return t == DType::kI16 || t == DType::kU16; }

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_INTEGER_PRODUCT_H_
