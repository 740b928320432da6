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

/* The exact product. Armv6-M multiplies 32 bits by 32 to 32, and its compilers' library multiplies 64 by 64. */
static int64_t product_of(int32_t sum, int32_t mantissa) {
#if VIREO_MCU_SHORT
  /* mantissa = m 2^7, m of 24 bits: (u 2^16 + v)(a 2^16 + b) of u, a above and v, b below. */
  const uint32_t m = (uint32_t)mantissa >> 7, v = (uint32_t)sum & 0xFFFFu, b = m & 0xFFFFu;
  const int32_t u = sum >> 16, a = (int32_t)(m >> 16);
  uint64_t p = (uint64_t)(uint32_t)(u * a) << 32 | v * b;
  p += (uint64_t)(int64_t)(u * (int32_t)b) << 16;
  p += (uint64_t)(v * (uint32_t)a) << 16;
  return (int64_t)(p << 7);
#else
  return (int64_t)sum * mantissa;
#endif
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
    if (i == 0) a = (uint64_t)product_of((int32_t)a, (int32_t)((m_bits & 0x7FFFFFu) | 0x800000u) << 7) >> 7;
  }
  if (exponent >= 0) {
    a = exponent > 6 ? (uint64_t)most : a << exponent; /* a has 24 bits */
  } else {
    a = exponent < -25 ? 0 : rounded(a, -exponent);
  }
  if (a > (uint64_t)most) a = (uint64_t)most;
  return sum < 0 ? -(int32_t)a : (int32_t)a;
}

/* m = M 2^-(32 + t) with 24 significant bits in M: p = sum * M is exact, and p / 2^(32 + t) is the real result. The
 * formula's first two roundings move it by at most 2^-23 of itself, 2^-14 while it is below 512. Where it is further
 * than that from every half, one rounding gives what three give. */
int32_t vireo_mcu_scale_8(int32_t sum, uint32_t m_bits) {
  const int32_t mantissa = (int32_t)(((m_bits & 0x7FFFFFu) | 0x800000u) << 7);
  int32_t t = 125 - (int32_t)(m_bits >> 23);
  if (t < 1) { /* m >= 1/4: past +-4096 the result is past +-1024. A power of two moves from m to the sum */
    int32_t up = 1 - t;
    m_bits -= (uint32_t)up << 23;
    if (up > 18) up = 18; /* m >= 2^17: every sum but 0 is past the clamp */
    sum = sum < -4096 ? -4096 : sum > 4096 ? 4096 : sum;
    sum *= (int32_t)1 << up;
    t = 1;
  } else if (t > 31) { /* m < 2^-33 */
    return 0;
  }
  const int64_t p = product_of(sum, mantissa);
  const int32_t high = (int32_t)(p >> 32);
  const uint32_t fraction = ((uint32_t)high << (32 - t)) | ((uint32_t)p >> t);
  if (fraction - 0x7FFC0000u <= 0x80000u) return vireo_mcu_scale(sum, m_bits);
  return (high >> t) + (int32_t)(fraction >> 31);
}

uint32_t vireo_mcu_divide(uint32_t a, uint32_t b) {
  uint32_t q = 0, rest = 0;
  for (int i = 0; i < 32; ++i, a <<= 1) {
    rest = rest << 1 | a >> 31;
    q <<= 1;
    if (rest >= b) rest -= b, ++q;
  }
  return q;
}

#if !VIREO_MCU_FPU
/* x / scale as the float32 that it is, then to the nearest integer: past +-2^20 some number of its sign past that. */
int32_t vireo_mcu_divide_reals(uint32_t x_bits, uint32_t scale_bits) {
  enum {
    kStep = VIREO_MCU_SHORT ? 1 : 8
  }; /* digits of a quotient at once: where there is no division, a subtraction */
  const uint32_t divisor = (scale_bits & 0x7FFFFFu) | 0x800000u;
  uint32_t rest = x_bits & 0x7FFFFFu, q = 1;
  int32_t exponent = (int32_t)(x_bits >> 23 & 255) - (int32_t)(scale_bits >> 23);
  if (exponent < -3) return 0; /* below 1/4: every x that is below the normal numbers, too */
  if (exponent > 21 || (x_bits >> 23 & 255) == 255) return (int32_t)x_bits < 0 ? -(1 << 21) : 1 << 21;
  if ((x_bits >> 23 & 255) != 0) {
    rest |= 0x800000u;
  } else if (rest < 0x400000u) { /* scale is at least the least normal number */
    return 0;
  } else {
    rest <<= 1;
  }
  if (rest < divisor) rest <<= 1, --exponent;
  rest -= divisor; /* the quotient is in [1, 2): 24 more digits */
  for (int i = 0; i < 24; i += kStep) {
    rest <<= kStep;
#if VIREO_MCU_SHORT
    q <<= 1;
    if (rest >= divisor) rest -= divisor, ++q;
#else
    const uint32_t digits = rest / divisor;
    rest -= digits * divisor;
    q = q << kStep | digits;
#endif
  }
  q = (q >> 1) + (q & 1 & (q >> 1 | (rest != 0))); /* to 24 digits */
  q = (uint32_t)rounded(q, 23 - exponent);
  return (int32_t)x_bits < 0 ? -(int32_t)q : (int32_t)q;
}

uint32_t vireo_mcu_times_real(int32_t v, uint32_t scale_bits) {
  const uint32_t sign = v < 0 ? 0x80000000u : 0, size = v < 0 ? 0u - (uint32_t)v : (uint32_t)v;
  if (size == 0) return 0;
  uint64_t p = (uint64_t)product_of((int32_t)size, (int32_t)((scale_bits & 0x7FFFFFu) | 0x800000u) << 7) >> 7;
  uint32_t exponent = scale_bits >> 23;
  const int beyond = bits_of(p) - 24;
  if (beyond > 0) p = rounded(p, beyond), exponent += (uint32_t)beyond;
  if (p >> 24 != 0) p >>= 1, ++exponent;
  return sign | (exponent >= 255 ? 0x7F800000u : exponent << 23 | ((uint32_t)p & 0x7FFFFFu));
}

/* The least n with v < 2^n. */
static int32_t digits_of(uint32_t v) {
#if defined(__GNUC__)
  return v == 0 ? 0 : 32 - __builtin_clz(v);
#else
  int32_t n = 0;
  for (; v != 0; v >>= 1) ++n;
  return n;
#endif
}

/* With r the real result, and zero in -128..255: past +-384 the clamp decides, and the fast way is on the same side.
 * Below, these lead to other digits behind the point:
 *
 *   the formula's first two roundings           2^-23 of r         below 2^-14
 *   the lower word that is left out             2^-shift           at most 2^-12
 *   a factor of 16 digits (VIREO_MCU_SHORT)     2^-16 of r         below 0.0059
 *
 * in all less than half of a window: 2^-11, and 2^-7 of the short factor. The upper word is within +-2^30, the zero
 * point less the least code is below 2^9, and shift is at most 20: sums stay in 32 bits. */
void vireo_mcu_ready(mcu_multiplier* by, float m, uint32_t most, const vireo_mcu_codes* codes) {
  const uint32_t bits = mcu_bits(m), mantissa = (bits & 0x7FFFFFu) | 0x800000u;
  const int32_t down = 125 - (int32_t)(bits >> 23) + VIREO_MCU_SHORT, zero = codes->zero;
  const int32_t free = 31 - VIREO_MCU_SHORT - digits_of(most), up = free < 20 - down ? free : 20 - down;
  by->m = m;
  if ((uint32_t)up > 31 || up + down < 12 || zero < -128 || zero > 255) {
    /* All sums go the long way: the product is 0, and 0 is in the window. */
    by->factor = by->offset = by->up = 0;
    by->shift = 16;
    return;
  }
  by->up = up;
  by->shift = up + down;
#if VIREO_MCU_SHORT
  by->factor = mantissa >= 0xFFFF80u ? 0xFFFF : (int32_t)((mantissa + 128) >> 8);
#else
  by->factor = (int32_t)(mantissa << 7);
#endif
  by->offset = ((zero - codes->low) * (2 << MCU_WINDOW) + (1 << MCU_WINDOW) + 1) *
               (int32_t)(1u << (up + down - (int32_t)MCU_WINDOW - 1));
}
#endif

int vireo_mcu_multipliers_serve(const float* m, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    const uint32_t bits = mcu_bits(m[i]);
    if (bits < 0x00800000u || bits > 0x7F7FFFFFu) return 0;
  }
  return 1;
}
