// Exponentials, logarithms and what is made of them. Coefficients are those of delegates/cpu/kernels/math-inl.h.
#include "delegates/gpu/templates/math.h"

#include <math.h>

#include <vector>

namespace vireo::gpu {
namespace {

Value bits_of(Value x) { return x.builder->bitcast(x, Type::kI32); }
Value float_of(Value bits) { return bits.builder->bitcast(bits, Type::kF32); }

// x 2^n for |n| <= 252: two factors, so that results may be subnormal or overflow as they should.
Value scale_by_power(Value x, Value n) {
  const Value half = n >> 1;
  return x * float_of((half + 127) << 23) * float_of((n - half + 127) << 23);
}

// e^r - 1 for |r| <= ln 2 / 2.
Value expm1_near_zero(Value r) {
  const Value p = horner(r, {5.000000029e-01f, 1.666657336e-01f, 4.166636345e-02f, 8.363776144e-03f, 1.394216110e-03f});
  return fma(r * r, p, r);
}

Value exp2_below(Value x) { return x.builder->unary(Op::kExp2, x); }  // x <= 0

Value erfc_far(Value a) {  // 1 - erf a for a >= 0.9, cut at 4
  return exp2_below(horner(select(a > like(a, 4.0f), like(a, 4.0f), a),
                           {4.245479283e-04f, -1.630435114e+00f, -9.117765310e-01f, -1.585885083e-01f, 3.799414645e-02f,
                            -6.824353393e-03f, 8.522217941e-04f, -6.543281943e-05f, 2.311903690e-06f}));
}

}  // namespace

Value is_nan(Value x) {
  Builder& b = *x.builder;
  return (b.bitcast(x, Type::kU32) & 0x7FFFFFFF) > 0x7F800000;
}

Value copy_sign(Value magnitude, Value sign) {
  Builder& b = *sign.builder;
  return float_of((b.bitcast(magnitude, Type::kU32) & 0x7FFFFFFF) | (b.bitcast(sign, Type::kU32) & 0x80000000));
}

Value clamp(Value x, float lo, float hi) {
  const Value low = select(x < like(x, lo), like(x, lo), x);
  return select(low > like(x, hi), like(x, hi), low);
}

Value horner(Value x, std::initializer_list<float> coefficients) {
  const std::vector<float> c = coefficients;
  Value sum = like(x, c.back());
  for (size_t i = c.size() - 1; i-- > 0;) sum = fma(sum, x, like(x, c[i]));
  return sum;
}

// x = n ln 2 + r, |r| <= ln 2 / 2, with ln 2 in two parts so that n times the first is exact.
Value exp_of(Value x) {
  Builder& b = *x.builder;
  const Value bounded = clamp(x, -104.0f, 89.0f);
  const Value n = b.unary(Op::kRoundEven, bounded * like(x, 1.44269504f));
  Value r = bounded - n * like(x, 0.693359375f);
  r = fma(n, like(x, 2.12194440e-4f), r);
  const Value y = expm1_near_zero(r) + like(x, 1.0f);
  return select(is_nan(x), x, scale_by_power(y, b.convert(select(is_nan(x), like(x, 0.0f), n), Type::kI32)));
}

Value expm1_of(Value x) {
  const Value near = absolute(x) < like(x, 0.34f);
  return select(near, expm1_near_zero(select(near, x, like(x, 0.0f))), exp_of(x) - like(x, 1.0f));
}

// x = 2^e m, m in [sqrt(1/2), sqrt(2)). Whether x is subnormal is read from its bits: a device may take one for 0.
Value log_of(Value x) {
  Builder& b = *x.builder;
  const Value raw = bits_of(x);
  const Value tiny = raw < 0x00800000;                           // subnormal, 0, or negative, which the end replaces
  const Value scaled = b.convert(raw & 0x007FFFFF, Type::kF32);  // x 2^149 of a subnormal
  const Value bits = select(tiny, bits_of(scaled), raw);
  const Value e = (bits - 0x3F3504F3) >> 23;  // bits of sqrt(1/2)
  const Value m = float_of(bits - (e << 23));
  const Value ef = b.convert(select(tiny, e - 149, e), Type::kF32);
  const Value f = m - like(x, 1.0f), f2 = f * f;
  const Value p = horner(f, {3.333331260e-01f, -2.500000960e-01f, 2.000211873e-01f, -1.666799567e-01f, 1.421955091e-01f,
                             -1.240559142e-01f, 1.188817460e-01f, -1.167564130e-01f, 6.746601328e-02f});
  Value y = fma(ef, like(x, -2.12194440e-4f), f2 * f * p);
  y = fma(f2, like(x, -0.5f), y);
  y = fma(ef, like(x, 0.693359375f), y + f);
  y = select((raw & 0x7FFFFFFF) == 0, like(x, -INFINITY), y);
  y = select((raw < 0) & ((raw & 0x7FFFFFFF) != 0), like(x, NAN), y);
  y = select(raw == 0x7F800000, x, y);
  return select(is_nan(x), x, y);
}

Value sigmoid_of(Value x) {  // of a number <= 0 on both sides, so that neither overflows
  const Value e = exp_of(-absolute(x));
  const Value one = like(x, 1.0f);
  return select(is_nan(x), x, select(x < like(x, 0.0f), e, one) / (one + e));
}

Value tanh_of(Value x) {  // an odd polynomial near 0, where 1 - 2 / (e^2x + 1) would cancel
  const Value a = absolute(x), s = x * x, one = like(x, 1.0f);
  const Value p =
      horner(s, {-3.333332941e-01f, 1.333280017e-01f, -5.385459144e-02f, 2.101187151e-02f, -6.115236274e-03f});
  const Value near = fma(s * p, x, x);
  const Value e = exp_of(clamp(a * like(x, -2.0f), -20.0f, 0.0f));  // from 18.03 on the result is 1
  const Value far = one - like(x, 2.0f) * e / (e + one);
  return select(is_nan(x), x, select(a < like(x, 0.625f), near, copy_sign(far, x)));
}

Value erf_of(Value x) {
  const Value a = absolute(x);
  const Value near = x * horner(x * x, {1.128379167e+00f, -3.761263531e-01f, 1.128371972e-01f, -2.686075281e-02f,
                                        5.204436026e-03f, -8.181927288e-04f, 8.538839171e-05f});
  const Value far = copy_sign(like(x, 1.0f) - erfc_far(a), x);
  return select(is_nan(x), x, select(a < like(x, 0.9f), near, far));
}

// The share of a normal distribution beyond |x| is 2 to the power of a polynomial that falls for ever: one formula
// with no other branch, because the result's error counts against x and not against the share.
Value gelu_of(Value x) {
  const Value beyond =
      exp2_below(horner(absolute(x), {-1.0f, -1.15110576e+00f, -4.59201276e-01f, -5.25241345e-02f, 7.11463299e-03f,
                                      -1.84995442e-04f, -1.62366006e-04f, 3.34857687e-05f, -2.26474594e-06f}));
  return x * select(x > like(x, 0.0f), like(x, 1.0f) - beyond, beyond);
}

Value softplus_of(Value x) {  // 1 + e loses e's low bits; e - ((1 + e) - 1) brings them back
  const Value one = like(x, 1.0f), zero = like(x, 0.0f);
  const Value e = exp_of(-absolute(x));
  const Value u = one + e, lost = e - (u - one);
  return select(x < zero, zero, x) + (log_of(u) + lost / u);
}

Value sinh_of(Value x) {
  const Value a = absolute(x), z = x * x, e = exp_of(a * like(x, 0.5f)), big = like(x, 0.5f) * e * e;
  const Value near = fma(horner(z, {1.66667160211e-1f, 8.33028376239e-3f, 2.03721912945e-4f}) * z, x, x);
  return select(is_nan(x), x, select(a < like(x, 1.0f), near, copy_sign(big - like(x, 0.25f) / big, x)));
}

Value cosh_of(Value x) {
  const Value e = exp_of(absolute(x) * like(x, 0.5f)), big = like(x, 0.5f) * e * e;
  return big + like(x, 0.25f) / big;
}

Value asinh_of(Value x) {
  const Value a = absolute(x), z = x * x;
  const Value near =
      fma(horner(z, {-1.6666288134e-1f, 7.4847586088e-2f, -4.2699340972e-2f, 2.0122003309e-2f}) * z, x, x);
  const Value middle = log_of(a + square_root(fma(a, a, like(x, 1.0f))));
  const Value far = select(a > like(x, 1500.0f), log_of(a) + like(x, 0.69314718f), middle);
  return select(is_nan(x), x, select(a < like(x, 0.5f), near, copy_sign(far, x)));
}

Value acosh_of(Value x) {
  const Value one = like(x, 1.0f), z = x - one;
  const Value near =
      horner(z, {1.4142135263f, -1.1784741703e-1f, 2.6454905019e-2f, -7.5272886713e-3f, 1.7596881071e-3f}) *
      square_root(z);
  const Value middle = log_of(x + square_root(z * (x + one)));
  const Value far = select(x > like(x, 1500.0f), log_of(x) + like(x, 0.69314718f), middle);
  return select(is_nan(x), x, select(x < one, like(x, NAN), select(z < like(x, 0.5f), near, far)));
}

Value atanh_of(Value x) {
  const Value a = absolute(x), z = x * x, one = like(x, 1.0f);
  const Value near = fma(
      horner(z, {3.33337300303e-1f, 1.99782164500e-1f, 1.46691431730e-1f, 8.24370301058e-2f, 1.81740078349e-1f}) * z, x,
      x);
  const Value far = copy_sign(like(x, 0.5f) * log_of((one + a) / (one - a)), x);
  const Value edge = select(a == one, copy_sign(like(x, INFINITY), x), like(x, NAN));
  return select(is_nan(x), x, select(a < like(x, 0.5f), near, select(a < one, far, edge)));
}

}  // namespace vireo::gpu
