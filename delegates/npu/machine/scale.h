// The scale unit: float32 arithmetic of IEEE 754, rounded to nearest even, made of integers alone. Numbers travel as
// their bits. What the operators of the SDK write as float32 products, sums and quotients comes out bit for bit.
#ifndef VIREO_DELEGATES_NPU_MACHINE_SCALE_H_
#define VIREO_DELEGATES_NPU_MACHINE_SCALE_H_

#include <stdint.h>

namespace vireo::npu {

constexpr uint32_t kSign = 0x80000000u, kInfinity = 0x7f800000u, kNotANumber = 0x7fc00000u;

constexpr bool is_nan(uint32_t f) { return (f & 0x7fffffffu) > kInfinity; }
constexpr bool is_infinite(uint32_t f) { return (f & 0x7fffffffu) == kInfinity; }
constexpr bool is_zero(uint32_t f) { return (f & 0x7fffffffu) == 0; }

constexpr int top_bit(uint64_t v) { return 63 - __builtin_clzll(v); }  // v != 0

// A finite number is mantissa * 2^exponent.
struct Parts {
  uint32_t mantissa;
  int32_t exponent;
};
constexpr Parts parts_of(uint32_t f) {
  const uint32_t biased = (f >> 23) & 255, fraction = f & 0x7fffffu;
  return biased == 0 ? Parts{fraction, -149} : Parts{fraction | 0x800000u, static_cast<int32_t>(biased) - 150};
}

// (mantissa + less than one, if `more`) * 2^exponent, rounded to a float32. With `more`, mantissa >= 2^25.
constexpr uint32_t round_f32(uint32_t sign, uint64_t mantissa, int32_t exponent, bool more) {
  if (mantissa == 0) return sign;
  int32_t shift = top_bit(mantissa) - 23;
  if (exponent + shift < -149) shift = -149 - exponent;
  uint64_t m = 0;
  if (shift <= 0) {
    m = mantissa << -shift;
  } else if (shift < 64) {
    const uint64_t rest = mantissa & ((uint64_t{1} << shift) - 1), half = uint64_t{1} << (shift - 1);
    m = mantissa >> shift;
    if (rest > half || (rest == half && (more || (m & 1) != 0))) ++m;
  }
  const int32_t e = exponent + shift;                         // the result is m * 2^e, m <= 2^24
  if (m < 0x800000u) return sign | static_cast<uint32_t>(m);  // e is -149: subnormal or 0
  const int64_t bits = (static_cast<int64_t>(e + 150) << 23) + static_cast<int64_t>(m - 0x800000u);
  return sign | (bits >= static_cast<int64_t>(kInfinity) ? kInfinity : static_cast<uint32_t>(bits));
}

constexpr uint32_t f32_of(int64_t v) {
  const uint64_t magnitude = v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  return round_f32(v < 0 ? kSign : 0, magnitude, 0, false);
}

constexpr uint32_t f32_mul(uint32_t a, uint32_t b) {
  const uint32_t sign = (a ^ b) & kSign;
  if (is_nan(a) || is_nan(b)) return kNotANumber;
  if (is_infinite(a) || is_infinite(b)) return is_zero(a) || is_zero(b) ? kNotANumber : sign | kInfinity;
  const Parts x = parts_of(a), y = parts_of(b);
  return round_f32(sign, uint64_t{x.mantissa} * y.mantissa, x.exponent + y.exponent, false);
}

constexpr uint32_t f32_add(uint32_t a, uint32_t b) {
  if (is_nan(a) || is_nan(b)) return kNotANumber;
  if (is_infinite(a)) return is_infinite(b) && a != b ? kNotANumber : a;
  if (is_infinite(b)) return b;
  if (is_zero(a) && is_zero(b)) return a & b;
  if (is_zero(a)) return b;
  if (is_zero(b)) return a;
  if ((a & 0x7fffffffu) < (b & 0x7fffffffu)) {
    const uint32_t t = a;
    a = b;
    b = t;
  }
  const Parts x = parts_of(a), y = parts_of(b);
  const bool differ = ((a ^ b) & kSign) != 0;
  const int32_t apart = x.exponent - y.exponent;  // >= 0, because |a| >= |b|
  constexpr int32_t kFar = 38;                    // so far apart y is less than one unit of x << kFar
  if (apart <= kFar) {
    const uint64_t big = uint64_t{x.mantissa} << apart;
    const uint64_t sum = differ ? big - y.mantissa : big + y.mantissa;
    return sum == 0 ? 0 : round_f32(a & kSign, sum, y.exponent, false);
  }
  const uint64_t big = uint64_t{x.mantissa} << kFar;
  return round_f32(a & kSign, differ ? big - 1 : big, x.exponent - kFar, true);
}

constexpr uint32_t f32_div(uint32_t a, uint32_t b) {
  const uint32_t sign = (a ^ b) & kSign;
  if (is_nan(a) || is_nan(b)) return kNotANumber;
  if (is_infinite(a)) return is_infinite(b) ? kNotANumber : sign | kInfinity;
  if (is_infinite(b)) return sign;
  if (is_zero(b)) return is_zero(a) ? kNotANumber : sign | kInfinity;
  if (is_zero(a)) return sign;
  const Parts x = parts_of(a), y = parts_of(b);
  // Subnormal dividends are brought to 24 bits, so that the quotient has 38 or more.
  const int up = 23 - top_bit(x.mantissa);
  const uint64_t dividend = uint64_t{x.mantissa} << (38 + up);
  return round_f32(sign, dividend / y.mantissa, x.exponent - up - 38 - y.exponent, dividend % y.mantissa != 0);
}

// clamp(rne(v) + zero_point) to [low, high]; a NaN becomes low. low, high, zero_point within +-2^19.
constexpr int32_t round_and_clamp_bits(uint32_t v, int32_t zero_point, int32_t low, int32_t high) {
  if (is_nan(v)) return low;
  const bool negative = (v & kSign) != 0;
  const Parts p = is_infinite(v) ? Parts{0x800000u, 127} : parts_of(v);
  int32_t r = 1 << 24;  // as good as any number from there on
  if (p.exponent <= -25) {
    r = 0;
  } else if (p.exponent < 0) {
    const uint32_t shift = static_cast<uint32_t>(-p.exponent);
    const uint32_t rest = p.mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
    r = static_cast<int32_t>(p.mantissa >> shift);
    if (rest > half || (rest == half && (r & 1) != 0)) ++r;
  }
  const int32_t y = (negative ? -r : r) + zero_point;
  return y < low ? low : y > high ? high : y;
}

// clamp(rne(float(acc) * m) + zero_point).
constexpr int32_t scale(int32_t acc, uint32_t m, int32_t zero_point, int32_t low, int32_t high) {
  return round_and_clamp_bits(f32_mul(f32_of(acc), m), zero_point, low, high);
}

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_MACHINE_SCALE_H_
