// 16-bit floats as storage types: arithmetic happens in float32. Conversions round to nearest even (IEEE
// 754-2019 4.3.1) and keep NaN a NaN.
#ifndef VIREO_SDK_BASE_HALF_H_
#define VIREO_SDK_BASE_HALF_H_

#include <stdint.h>
#include <string.h>

namespace vireo {

inline uint32_t float_bits(float v) {
  uint32_t u;
  memcpy(&u, &v, sizeof(u));
  return u;
}
inline float float_from_bits(uint32_t u) {
  float v;
  memcpy(&v, &u, sizeof(v));
  return v;
}

inline float f16_to_f32(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 0x1Fu;
  const uint32_t fraction = h & 0x3FFu;
  if (exponent == 0x1F) return float_from_bits(sign | 0x7F800000u | (fraction << 13));
  if (exponent != 0) return float_from_bits(sign | ((exponent + 112) << 23) | (fraction << 13));
  // Subnormal: fraction * 2^-24 is exact in float32.
  const float magnitude = static_cast<float>(fraction) * 5.9604644775390625e-8f;
  return float_from_bits(sign | float_bits(magnitude));
}

inline uint16_t f32_to_f16(float v) {
  const uint32_t u = float_bits(v);
  const uint16_t sign = static_cast<uint16_t>((u >> 16) & 0x8000u);
  const uint32_t a = u & 0x7FFFFFFFu;
  if (a > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u);
  if (a >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);  // >= 65520 rounds to infinity
  if (a < 0x38800000u) {
    // Below 2^-14. Adding 0.5 puts the result's last bit (2^-24) at float32's last bit, so the addition rounds.
    const float shifted = float_from_bits(a) + 0.5f;
    return static_cast<uint16_t>(sign | (float_bits(shifted) - 0x3F000000u));
  }
  const uint32_t rounded = a + 0xFFFu + ((a >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

inline float bf16_to_f32(uint16_t h) { return float_from_bits(static_cast<uint32_t>(h) << 16); }
inline uint16_t f32_to_bf16(float v) {
  const uint32_t u = float_bits(v);
  if ((u & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((u >> 16) | 0x40u);
  return static_cast<uint16_t>((u + 0x7FFFu + ((u >> 16) & 1u)) >> 16);
}

struct F16 {
  uint16_t bits = 0;
  F16() = default;
  explicit F16(float v) : bits(f32_to_f16(v)) {}
  operator float() const { return f16_to_f32(bits); }  // NOLINT: reads like a number
};
struct BF16 {
  uint16_t bits = 0;
  BF16() = default;
  explicit BF16(float v) : bits(f32_to_bf16(v)) {}
  operator float() const { return bf16_to_f32(bits); }  // NOLINT: reads like a number
};

}  // namespace vireo

#endif  // VIREO_SDK_BASE_HALF_H_
