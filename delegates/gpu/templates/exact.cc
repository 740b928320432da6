#include "delegates/gpu/templates/exact.h"

#include <math.h>

#include "delegates/gpu/templates/math.h"

namespace vireo::gpu {
namespace {

Value raw_bits(Value x) { return x.builder->bitcast(x, Type::kU32); }
Value from_bits(Value bits) { return bits.builder->bitcast(bits, Type::kF32); }
Value exponent_field(Value x) { return (raw_bits(x) >> 23) & 0xFF; }
Value is_special(Value x) { return exponent_field(x) == 0xFF; }  // infinity or NaN

struct Pair {
  Value high, low;  // a sum that is not rounded
};

// a * b = high + low exactly (T. Dekker, 1971), without a fused operation that a device may not have.
Pair two_product(Value a, Value b) {
  const auto split = [](Value v) {
    const Value far = v * like(v, 4097.0f), high = far - (far - v);
    return Pair{high, v - high};
  };
  const Value product = a * b;
  const Pair x = split(a), y = split(b);
  return {product, ((x.high * y.high - product) + x.high * y.low + x.low * y.high) + x.low * y.low};
}

// log2 of a normal or subnormal x > 0, to 2^-31 of its size.
Pair log2_pair(Value x) {
  Builder& b = *x.builder;
  const Value raw = b.bitcast(x, Type::kI32), tiny = raw < 0x00800000;
  const Value bits = select(tiny, b.bitcast(b.convert(raw, Type::kF32), Type::kI32), raw);  // x 2^149 of a subnormal
  const Value e = (bits - 0x3F3504F3) >> 23;                                                // bits of sqrt(1/2)
  const Value m = b.bitcast(bits - (e << 23), Type::kF32);
  const Value whole = b.convert(select(tiny, e - 149, e), Type::kF32);
  // ln m = 2 (t + t^3 / 3 + ...), t = (m - 1) / (m + 1) with what is lost of the sum and of the quotient.
  const Value one = like(x, 1.0f), f = m - one, d = m + one, d_low = m - (d - one);
  const Value t = f / d;
  const Pair back = two_product(t, d);
  const Value t_low = (((f - back.high) - back.low) - t * d_low) / d;
  const Value s = t * t;
  const Value rest = s * horner(s, {1 / 3.0f, 1 / 5.0f, 1 / 7.0f, 1 / 9.0f, 1 / 11.0f});
  const float c = 2.88539004f;  // 2 / ln 2 = c + 3.8519255e-8
  const Pair main = two_product(t, like(x, c));
  const Value low = main.low + (like(x, c) * fma(t, rest, t_low) + like(x, 3.8519255e-8f) * t);
  const Value sum = whole + main.high;
  return {sum, (main.high - (sum - whole)) + low};
}

// 2^(p.high + p.low).
Value exp2_of(Pair p) {
  Builder& b = *p.high.builder;
  const Value high = clamp(p.high, -160.0f, 130.0f);
  const Value low = select(high == p.high, p.low, like(high, 0.0f));
  const Value n = b.unary(Op::kRoundEven, high);
  const Value r = ((high - n) + low) * like(high, 0.693147181f);
  const Value y = like(r, 1.0f) + expm1_of(r);
  const Value i = b.convert(n, Type::kI32), half = i >> 1;
  return y * b.bitcast((half + 127) << 23, Type::kF32) * b.bitcast((i - half + 127) << 23, Type::kF32);
}

}  // namespace

// The device's quotient of the significands is some places off. One step brings it to within one; then it, or its
// neighbour on the side of what is left, is the nearest. Halfway does not occur.
Value exact_quotient(Value a, Value b) {
  Builder& w = *a.builder;
  const Value one = w.u32(0x3F800000);
  const Value x = from_bits((raw_bits(a) & 0x007FFFFF) | one), y = from_bits((raw_bits(b) & 0x007FFFFF) | one);
  const Value first = x / y;
  const Pair p = two_product(first, y);
  const Value second = first + ((x - p.high) - p.low) / y;
  const Pair q = two_product(second, y);
  const Value left = (x - q.high) - q.low;
  const Value up = left > like(a, 0.0f);
  const Value other = from_bits(select(up, raw_bits(second) + 1, raw_bits(second) - 1));
  const Value step = absolute(other - second) * y;
  const Value nearest = select(absolute(left + left) > step, other, second);
  const Value power = w.bitcast(exponent_field(a), Type::kI32) - w.bitcast(exponent_field(b), Type::kI32);
  const Value half = power >> 1;
  const Value scaled =
      nearest * w.bitcast((half + 127) << 23, Type::kF32) * w.bitcast((power - half + 127) << 23, Type::kF32);
  const Value signed_result = from_bits(raw_bits(scaled) | ((raw_bits(a) ^ raw_bits(b)) & 0x80000000));
  const Value usual = (exponent_field(a) != 0) & (exponent_field(b) != 0) & !is_special(a) & !is_special(b);
  return select(usual, signed_result, a / b);
}

// |a| = m 2^e against |b|: the remainder of m 2^(difference of exponents), eight bits at a time.
Value remainder_of(Value a, Value b) {
  Builder& w = *a.builder;
  const auto parts = [&](Value v, Value* e) {
    const Value raw = raw_bits(v) & 0x7FFFFFFF, field = raw >> 23;
    *e = select(field == 0, w.u32(1), field);
    return select(field == 0, raw, (raw & 0x007FFFFF) | 0x00800000);
  };
  Value ea, eb;
  const Value m = parts(a, &ea), divisor = parts(b, &eb);
  const Value n = select(ea < eb, w.u32(0), ea - eb), d = select(divisor == 0, w.u32(1), divisor);
  const Variable rest = w.variable(m);
  w.loop(w.u32(0), n >> 3, 1, [&](Value) { rest.set((rest.get() % d) << 8); });
  const Value last = ((rest.get() % d) << (n & 7)) % d;
  const Value power = w.bitcast(eb, Type::kI32) - 150, half = power >> 1;
  const Value size = w.convert(last, Type::kF32) * w.bitcast((half + 127) << 23, Type::kF32) *
                     w.bitcast((power - half + 127) << 23, Type::kF32);
  const Value result = copy_sign(select((ea < eb) | is_special(b), absolute(a), size), a);
  const Value none = is_nan(a) | is_nan(b) | is_special(a) | (divisor == 0);
  return select(none, like(a, NAN), result);
}

Value power_of(Value x, Value y) {
  Builder& b = *x.builder;
  const Value zero = like(x, 0.0f), one = like(x, 1.0f), infinity = like(x, INFINITY);
  const Value base = absolute(x), n = clamp(y, -1e10f, 1e10f);  // beyond, what is not 1 is 0 or infinity
  const Pair log = log2_pair(base);
  const Pair scaled = two_product(n, log.high);
  Value result = exp2_of({scaled.high, scaled.low + n * log.low});
  const Value ends = (base == zero) | (base == infinity);
  result = select(ends, select((base == zero) ^ (y < zero), zero, infinity), result);
  const Value whole = b.unary(Op::kFloor, y) == y;
  const Value small = absolute(y) < like(y, 16777216.0f);  // above, every float is even
  const Value low = b.convert(select(small, y, zero), Type::kI32);
  const Value odd = whole & small & ((low & 1) != 0);
  const Value negative = b.bitcast(x, Type::kI32) < 0;
  result = select(negative & odd, -result, result);
  result = select(negative & !whole & !ends, like(x, NAN), result);
  result = select(is_nan(x) | is_nan(y), like(x, NAN), result);
  return select((x == one) | (y == zero), one, result);
}

}  // namespace vireo::gpu
