// Circular functions. Polynomials of Cephes (sinf, cosf, asinf, atanf; S. Moshier), which is in the public domain.
#include <math.h>

#include "delegates/gpu/templates/math.h"

namespace vireo::gpu {
namespace {

struct Angle {
  Value quarter;  // 0 to 3, kU32: quarter turns
  Value rest;     // in [-pi/4, pi/4]
};

// Bits of 2 / pi behind the point, after 32 zeros (M. Payne, R. Hanek, 1983): |x| = m 2^e with m below 2^24, and
// only those 96 bits are taken whose products with m reach below 4 quarter turns.
Angle reduce(Value x) {
  Builder& b = *x.builder;
  constexpr uint32_t kBits[] = {0,          0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0,
                                0xDB629599, 0x3C439041, 0xFE5163AB, 0xDEBBC561};
  const Value raw = b.bitcast(x, Type::kU32) & 0x7FFFFFFF;
  const Value m = (raw & 0x007FFFFF) | 0x00800000;
  // 32 + e - 2, e = exponent - 150; below pi / 4 the result is not used.
  const Value exponent = b.select(raw < 0x3F000000, b.u32(126), b.select(raw >= 0x7F800000, b.u32(254), raw >> 23));
  const Value from = exponent - 120;
  const Value word = from >> 5, shift = from & 31;
  Value part[4];
  for (uint32_t i = 0; i < 4; ++i) {
    part[i] = b.u32(kBits[i]);
    for (uint32_t w = 1; w < 5; ++w) part[i] = b.select(word == w, b.u32(kBits[w + i]), part[i]);
  }
  Value window[3];  // the highest first
  for (int i = 0; i < 3; ++i) {
    window[i] = b.select(shift == 0, part[i], (part[i] << shift) | (part[i + 1] >> ((b.u32(32) - shift) & 31)));
  }
  // m * window, the low 96 bits: its two highest are quarter turns.
  const Value low1 = b.binary(Op::kMultiplyHigh, m, window[2]);
  const Value middle = m * window[1] + low1;
  const Value carry = b.convert(middle < low1, Type::kU32);
  const Value high = m * window[0] + b.binary(Op::kMultiplyHigh, m, window[1]) + carry;
  const Value quarter = ((high >> 29) + 1) >> 1;                               // to the nearest
  const Value fraction = b.bitcast((high << 2) | (middle >> 30), Type::kI32);  // of a quarter turn, 2^-32
  const Value below = middle << 2;
  // The sign of a fraction above one half is that of its two's complement.
  const Value turns = b.convert(fraction, Type::kF32) * like(x, 2.3283064365386963e-10f) +
                      b.convert(below, Type::kF32) * like(x, 5.4210108624275222e-20f);
  Angle out;
  const Value small = raw < 0x3F490FDB;  // pi / 4
  out.quarter = b.select(small, b.u32(0), quarter & 3);
  out.rest = select(small, absolute(x), turns * like(x, 1.57079632679f));
  return out;
}

Value sine(Value r) {
  const Value s = r * r;
  return fma(s * horner(s, {-1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f}), r, r);
}
Value cosine(Value r) {
  const Value s = r * r;
  const Value p = horner(s, {4.166664568298827e-2f, -1.388731625493765e-3f, 2.443315711809948e-5f});
  return fma(s * s, p, fma(s, like(r, -0.5f), like(r, 1.0f)));
}
Value nan_of_infinity(Value x, Value y) {
  Builder& b = *x.builder;
  return select((b.bitcast(x, Type::kU32) & 0x7FFFFFFF) >= 0x7F800000, like(x, NAN), y);
}
Value flip_if(Value condition, Value y) { return select(condition, -y, y); }

// asin a for a in [0, 1/2].
Value asin_near_zero(Value a) {
  const Value z = a * a;
  const Value p = horner(z, {1.6666752422e-1f, 7.4953002686e-2f, 4.5470025998e-2f, 2.4181311049e-2f, 4.2163199048e-2f});
  return fma(z * p, a, a);
}

}  // namespace

Value sin_of(Value x) {
  Builder& b = *x.builder;
  const Angle a = reduce(x);
  const Value y = select((a.quarter & 1) == 0, sine(a.rest), cosine(a.rest));
  const Value negative = ((a.quarter & 2) != 0) ^ (b.bitcast(x, Type::kI32) < 0);
  return nan_of_infinity(x, flip_if(negative, y));
}

Value cos_of(Value x) {
  const Angle a = reduce(x);
  const Value y = select((a.quarter & 1) == 0, cosine(a.rest), sine(a.rest));
  return nan_of_infinity(x, flip_if(((a.quarter + 1) & 2) != 0, y));
}

Value tan_of(Value x) {
  Builder& b = *x.builder;
  const Angle a = reduce(x);
  const Value s = sine(a.rest), c = cosine(a.rest);
  const Value odd = (a.quarter & 1) != 0;
  const Value y = select(odd, -c, s) / select(odd, s, c);
  return nan_of_infinity(x, flip_if(b.bitcast(x, Type::kI32) < 0, y));
}

Value asin_of(Value x) {
  const Value a = absolute(x), half = like(x, 0.5f);
  const Value far = like(x, 1.57079632679f) - like(x, 2.0f) * asin_near_zero(square_root(half * (like(x, 1.0f) - a)));
  const Value y = copy_sign(select(a > half, far, asin_near_zero(a)), x);
  return select(is_nan(x), x, select(a > like(x, 1.0f), like(x, NAN), y));
}

Value acos_of(Value x) {
  const Value a = absolute(x), half = like(x, 0.5f);
  const Value far = like(x, 2.0f) * asin_near_zero(square_root(half * (like(x, 1.0f) - a)));
  const Value outer = select(x < like(x, 0.0f), like(x, 3.14159265359f) - far, far);
  const Value y = select(a > half, outer, like(x, 1.57079632679f) - copy_sign(asin_near_zero(a), x));
  return select(is_nan(x), x, select(a > like(x, 1.0f), like(x, NAN), y));
}

Value atan_of(Value x) {
  const Value a = absolute(x), one = like(x, 1.0f);
  const Value steep = a > like(x, 2.414213562373095f), middle = a > like(x, 0.4142135623730950f);
  const Value t =
      select(steep, like(x, -1.0f), select(middle, a - one, a)) / select(steep, a, select(middle, a + one, one));
  const Value base = select(steep, like(x, 1.57079632679f), select(middle, like(x, 0.785398163397f), like(x, 0.0f)));
  const Value z = t * t;
  const Value p = horner(z, {-3.33329491539e-1f, 1.99777106478e-1f, -1.38776856032e-1f, 8.05374449538e-2f});
  return select(is_nan(x), x, copy_sign(base + fma(p * z, t, t), x));
}

}  // namespace vireo::gpu
