#include "delegates/mcu/kernels/requantize.h"

/* v / 2^shift to the nearest integer, ties to even; shift of 1 to 63. */
static uint64_t rounded(uint64_t v, int shift) {
  const uint64_t half = (uint64_t)1 << (shift - 1), rest = v & ((half << 1) - 1);
  const uint64_t whole = v >> shift;
  return whole + (rest > half || (rest == half && (whole & 1) != 0) ? 1 : 0);
}

static int bits_of(uint64_t v) {
  int n = 0;
  while (v >> n >> 8 != 0) n += 8;
  for (v >>= n; v != 0; v >>= 1) ++n;
  return n;
}

int32_t vireo_mcu_scale(int64_t sum, uint32_t m_bits) {
  const int32_t most = 1 << 30;
  uint64_t a = sum < 0 ? (uint64_t)0 - (uint64_t)sum : (uint64_t)sum;
  int exponent = (int)(m_bits >> 23) - 150;
  if (a == 0) return 0;
  for (int i = 0; i < 2; ++i) { /* float(sum), then the product: each to 24 bits */
    const int beyond = bits_of(a) - 24;
    if (beyond > 0) {
      a = rounded(a, beyond);
      exponent += beyond;
    }
    if (i == 0) a *= (m_bits & 0x7FFFFFu) | 0x800000u;
  }
  if (exponent >= 0) {
    a = exponent > 6 ? (uint64_t)most : a << exponent; /* a has 24 bits */
  } else {
    a = exponent < -25 ? 0 : rounded(a, -exponent);
  }
  if (a > (uint64_t)most) a = (uint64_t)most;
  return sum < 0 ? -(int32_t)a : (int32_t)a;
}

int32_t vireo_mcu_scale_8(int32_t sum, uint32_t m_bits) { return mcu_scale_8(sum, m_bits); }

int vireo_mcu_multipliers_serve(const float* m, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    const uint32_t bits = mcu_bits(m[i]);
    if (bits < 0x00800000u || bits > 0x7F7FFFFFu) return 0;
  }
  return 1;
}
