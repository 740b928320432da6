// Floats of 4, 6 and 8 bits as storage types, and float64 to 16 bits in one rounding.
// Sources: ONNX opset 28 "Cast" (both tables); OCP 8-bit Floating Point Specification (OFP8) 1.0; OCP Microscaling
// Formats (MX) 1.0, section 5.3; Noune et al. 2022, arXiv:2206.02915 (the FNUZ types).
#ifndef VIREO_SDK_BASE_NARROW_FLOAT_H_
#define VIREO_SDK_BASE_NARROW_FLOAT_H_

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sdk/base/dtype.h"
#include "sdk/base/half.h"

namespace vireo {

// Sign, `exponent_bits`, `mantissa_bits`: (-1)^s 2^(e - bias) 1.m, subnormal at e = 0.
struct NarrowFloat {
  uint8_t exponent_bits, mantissa_bits;
  uint8_t bias;
  uint8_t max_code;       // the largest finite number, sign apart
  uint8_t nan_code;       // 0: the type has no NaN
  uint8_t infinity_code;  // 0: the type has no infinity
  bool negative_zero;     // else the code of -0 is the NaN
};

constexpr NarrowFloat kE4M3FN = {4, 3, 7, 0x7E, 0x7F, 0, true};
constexpr NarrowFloat kE4M3FNUZ = {4, 3, 8, 0x7F, 0x80, 0, false};
constexpr NarrowFloat kE5M2 = {5, 2, 15, 0x7B, 0x7E, 0x7C, true};
constexpr NarrowFloat kE5M2FNUZ = {5, 2, 16, 0x7F, 0x80, 0, false};
constexpr NarrowFloat kE2M1 = {2, 1, 1, 0x07, 0, 0, true};
constexpr NarrowFloat kE2M3 = {2, 3, 1, 0x1F, 0, 0, true};
constexpr NarrowFloat kE3M2 = {3, 2, 3, 0x1F, 0, 0, true};

// The format of a type, null for other types (also for kF8E8M0, which has neither sign nor mantissa).
inline const NarrowFloat* narrow_float(DType t) {
  switch (t) {
    case DType::kF8E4M3FN:
      return &kE4M3FN;
    case DType::kF8E4M3FNUZ:
      return &kE4M3FNUZ;
    case DType::kF8E5M2:
      return &kE5M2;
    case DType::kF8E5M2FNUZ:
      return &kE5M2FNUZ;
    case DType::kF4E2M1:
      return &kE2M1;
    case DType::kF6E2M3:
      return &kE2M3;
    case DType::kF6E3M2:
      return &kE3M2;
    default:
      return nullptr;
  }
}

inline uint64_t double_bits(double v) {
  uint64_t u;
  memcpy(&u, &v, sizeof(u));
  return u;
}
// 2^e for e in [-1022, 1023].
inline double exp2_exact(int e) {
  const uint64_t u = static_cast<uint64_t>(e + 1023) << 52;
  double v;
  memcpy(&v, &u, sizeof(v));
  return v;
}

// Exact: every narrow number is a float32.
inline float narrow_to_f32(const NarrowFloat& f, uint8_t code) {
  const int width = f.exponent_bits + f.mantissa_bits;
  const uint8_t magnitude = static_cast<uint8_t>(code & ((1u << width) - 1));
  const bool negative = (code >> width & 1) != 0;
  if (!f.negative_zero && code == f.nan_code) return NAN;
  if (f.infinity_code != 0 && magnitude == f.infinity_code) return negative ? -INFINITY : INFINITY;
  if (f.negative_zero && f.nan_code != 0 && magnitude > f.max_code) return negative ? -NAN : NAN;
  const int e = magnitude >> f.mantissa_bits;
  const int m = magnitude & ((1 << f.mantissa_bits) - 1);
  const int hidden = e == 0 ? 0 : 1 << f.mantissa_bits;
  const double unit = exp2_exact((e == 0 ? 1 : e) - f.bias - f.mantissa_bits);
  const float v = static_cast<float>((hidden + m) * unit);
  return negative ? -v : v;
}

// To nearest, ties to even. Above the largest number (after rounding): that number with `saturate`, or in a type
// without NaN and infinity; else infinity, or NaN in a type without one. NaN in a type without it: -0.
inline uint8_t f64_to_narrow(const NarrowFloat& f, double v, bool saturate) {
  const int width = f.exponent_bits + f.mantissa_bits;
  const unsigned sign = (double_bits(v) >> 63 != 0 ? 1u : 0u) << width;
  if (v != v) {
    if (f.nan_code == 0) return static_cast<uint8_t>(1u << width);
    return static_cast<uint8_t>(f.negative_zero ? sign | f.nan_code : f.nan_code);
  }
  const double a = fabs(v);
  const int lowest = 1 - f.bias;  // exponent of the subnormals
  const int exponent = static_cast<int>(double_bits(a) >> 52) - 1023;
  unsigned code = 0x100;  // above every code
  if (exponent <= f.bias + 1) {
    const int e = exponent < lowest ? lowest : exponent;
    // Scaling by a power of two is exact, so this rounds once; a carry moves into the exponent as it should.
    const double units = rint(a * exp2_exact(f.mantissa_bits - e));
    code = (static_cast<unsigned>(e - lowest) << f.mantissa_bits) + static_cast<unsigned>(units);
  }
  if (code > f.max_code) {
    if (saturate || f.nan_code == 0) {
      code = f.max_code;
    } else if (f.infinity_code != 0) {
      code = f.infinity_code;
    } else {
      return static_cast<uint8_t>(f.negative_zero ? sign | f.nan_code : f.nan_code);
    }
  }
  if (code == 0 && !f.negative_zero) return 0;
  return static_cast<uint8_t>(sign | code);
}

// float8e8m0: 2^(code - 127), NaN at 255.
inline double e8m0_to_f64(uint8_t code) { return code == 0xFF ? static_cast<double>(NAN) : exp2_exact(code - 127); }

enum class PowerRounding : uint8_t { kUp, kDown, kNearest };  // kNearest: by distance, ties up

// The sign is dropped. 0 and what lies below 2^-127: 2^-127 with `saturate`, else NaN. Above 2^127: likewise.
inline uint8_t f64_to_e8m0(double v, PowerRounding rounding, bool saturate) {
  if (v != v) return 0xFF;
  const double a = fabs(v);
  const uint64_t u = double_bits(a);
  const uint64_t fraction = u & ((1ull << 52) - 1);
  int code = static_cast<int>(u >> 52) - 1023 + 127;
  if (code >= 0 && fraction != 0) {
    if (rounding == PowerRounding::kUp || (rounding == PowerRounding::kNearest && fraction >= 1ull << 51)) ++code;
  }
  if (code < 0) return saturate ? 0 : 0xFF;
  if (code > 0xFE) return saturate ? 0xFE : 0xFF;
  return static_cast<uint8_t>(code);
}

// A float32 from which rounding to 16 bits gives what rounding `v` itself would: towards zero, with the last bit set
// where anything was cut off (round to odd; Boldo and Melquiond 2008, doi:10.1109/TC.2007.70819).
inline float f64_to_f32_odd(double v) {
  const float f = static_cast<float>(v);
  if (v != v || static_cast<double>(f) == v) return f;
  uint32_t u = float_bits(f);
  if (fabs(static_cast<double>(f)) > fabs(v)) --u;
  return float_from_bits(u | 1u);
}

}  // namespace vireo

#endif  // VIREO_SDK_BASE_NARROW_FLOAT_H_
