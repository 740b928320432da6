/* The last step of products on one core, beside its formula in float32: CASES sums, of which half lie next to a half.
 * Prints a hash of the codes, which every core has to print, and ends with 1 where the two differ. */
#include <stdint.h>

#include "requantize.h"

#ifdef ON_HOST
#include <stdio.h>
#define PRINT(text) fputs(text, stdout)
#else
#include "board.h"
#define PRINT(text) board_write(text)
#endif

static uint32_t state = 1;
static uint32_t next(void) { /* Marsaglia's xorshift */
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

static float real_of(uint32_t bits) {
  float v;
  memcpy(&v, &bits, 4);
  return v;
}

/* rne(float(sum) * m), by the roundings of float32 alone: at 1.5 * 2^23 the last bit is worth 1. */
static int32_t formula(float sum, float m, int32_t most) {
  volatile float v = sum * m;
  if (v >= (float)most) return most;
  if (v <= (float)-most) return -most;
  v += 12582912.0f;
  v -= 12582912.0f;
  return (int32_t)v;
}

static int32_t clamp(int32_t v, int32_t low, int32_t high) { return v < low ? low : v > high ? high : v; }

/* A sum whose result lies next to `tie` + 1/2: the quotient, by integers alone, give or take 2. */
static int32_t sum_near(uint32_t m_bits, int32_t tie) {
  const int32_t shift = 150 - (int32_t)(m_bits >> 23); /* m = mantissa / 2^shift */
  const uint64_t mantissa = (m_bits & 0x7FFFFFu) | 0x800000u;
  if (shift < 1 || shift > 53) return (int32_t)next() >> 8;
  const uint64_t half = (uint64_t)(2 * (tie < 0 ? -tie : tie) + 1) << (shift - 1);
  const uint64_t sum = half / mantissa + next() % 5;
  if (sum > 0x7FFFFFF0u) return (int32_t)next();
  return tie < 0 ? -(int32_t)sum : (int32_t)sum;
}

static void print_number(uint32_t n) {
  char text[12] = {0}, *p = text + 10;
  do *--p = (char)('0' + n % 10);
  while ((n /= 10) != 0);
  text[10] = '\n';
  PRINT(p);
}

int main(void) {
  uint32_t hash = 2166136261u, differ = 0;
  for (uint32_t i = 0; i < CASES; ++i) {
    uint32_t bits = (next() & 0x7FFFFFu) | (98u + next() % 38) << 23;
    if (i % 16 == 0) bits &= 0xFFF00000u; /* few digits: ties */
    const float m = real_of(bits);
    const int32_t sum = i % 2 == 0 ? sum_near(bits, (int32_t)(next() % 1024) - 512) : (int32_t)next() >> (next() % 31);
    const int32_t low = next() & 1 ? -128 : 0;
    vireo_mcu_codes codes = {low + (int32_t)(next() & 255), low, low + 255};
    if (i % 8 == 0) codes.low += (int32_t)(next() & 127), codes.high -= (int32_t)(next() & 127);
    if (codes.high < codes.low) codes.high = codes.low;
    const int32_t wanted = clamp(formula((float)sum, m, 100000) + codes.zero, codes.low, codes.high);
    const uint32_t size = sum < 0 ? 0u - (uint32_t)sum : (uint32_t)sum, more = next() >> (next() % 31);
    mcu_multiplier by;
    mcu_make_ready(&by, m, size + more < size ? UINT32_MAX : size + more, &codes);
    differ += mcu_requantize(sum, m, &codes) != wanted;
    differ += mcu_requantize_by(sum, &by, &codes) != wanted;
#if VIREO_MCU_MVE
    differ += vgetq_lane_s32(mcu_four_codes(vdupq_n_s32(sum), m, &codes), 3) != wanted;
#endif
    /* Codes of 16 bits: vireo_mcu_scale is what cores without a floating-point unit have. */
    const int32_t wide = clamp(formula((float)sum, m, 1000000), -70000, 70000);
    differ += clamp(vireo_mcu_scale(sum, bits), -70000, 70000) != wide;
    hash = (hash ^ (uint32_t)wanted) * 16777619u;
    hash = (hash ^ (uint32_t)wide) * 16777619u;
  }
  print_number(hash);
  if (differ == 0) return 0;
  PRINT("differ\n");
  print_number(differ);
  return 1;
}
