/* The last step of a product: clamp(rne(float(sum) * m) + zero), as sdk/ops/INTEGER.md defines it, to the bit.
 *
 * A core with an FPU computes the formula. Others get the same bits from integers alone. m is a positive normal
 * float32; whoever prepares a kernel checks it (vireo_mcu_multipliers_serve). */
#ifndef VIREO_DELEGATES_MCU_KERNELS_REQUANTIZE_H_
#define VIREO_DELEGATES_MCU_KERNELS_REQUANTIZE_H_

#include <stdint.h>
#include <string.h>

#include "delegates/mcu/kernels/lanes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* VIREO_MCU_FPU: float32 arithmetic is the core's own. 0 on a host tests what cores without it run. */
#ifndef VIREO_MCU_FPU
#if defined(__ARM_FP)
#define VIREO_MCU_FPU ((__ARM_FP & 4) != 0)
#elif defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define VIREO_MCU_FPU 0
#elif defined(__riscv)
#if defined(__riscv_flen)
#define VIREO_MCU_FPU 1
#else
#define VIREO_MCU_FPU 0
#endif
#else
#define VIREO_MCU_FPU 1
#endif
#endif

/* The codes of an output: zero point and bounds; all within the type, whose bytes or half words are stored as they
 * are. */
typedef struct {
  int32_t zero, low, high;
} vireo_mcu_codes;

/* Units of work from `from` until `to`, in their order and each once. A run can stop between any two, if scratch memory
 * keeps its bytes. */
typedef struct {
  uint32_t from, to;
} vireo_mcu_units;
#define VIREO_MCU_ALL_UNITS 0xFFFFFFFFu

MCU_INLINE uint32_t mcu_bits(float v) {
  uint32_t bits;
  memcpy(&bits, &v, 4);
  return bits;
}

/* rne(float(sum) * m) in integers, for any sum; beyond +-2^30 it is +-2^30. Each of the three roundings of the formula
 * is one of the integer roundings here: the sum to 24 bits, the product to 24 bits, the result to an integer. */
int32_t vireo_mcu_scale(int64_t sum, uint32_t m_bits);

/* The same where the clamp to 8 bits follows: |result| past 511 may be any number past 511 of the same sign. */
int32_t vireo_mcu_scale_8(int32_t sum, uint32_t m_bits);

/* VIREO_MCU_SHORT: a product of two words is one word, as on Armv6-M. */
#ifndef VIREO_MCU_SHORT
#if defined(__ARM_ARCH_6M__)
#define VIREO_MCU_SHORT 1
#else
#define VIREO_MCU_SHORT 0
#endif
#endif

/* a / b, where no loop depends on it. */
uint32_t vireo_mcu_divide(uint32_t a, uint32_t b);
MCU_INLINE int32_t mcu_divide(int32_t a, int32_t b) {
  return VIREO_MCU_SHORT ? (int32_t)vireo_mcu_divide((uint32_t)a, (uint32_t)b) : a / b;
}

/* Without a floating-point unit: float32 arithmetic by integers, of a scale that is a positive normal number.
 * rne(x / scale), past +-2^20 some number of its sign past that, of any x but a NaN; and the bits of v * scale, for
 * |v| below 2^23. */
int32_t vireo_mcu_divide_reals(uint32_t x_bits, uint32_t scale_bits);
uint32_t vireo_mcu_times_real(int32_t v, uint32_t scale_bits);

/* A multiplier of several sums, made ready once for codes of 8 bits.
 *
 * A sum is raised by `up` binary digits, as many as its bound leaves free. The upper word of its product with `factor`
 * is the result with `shift` digits behind the point, less what the lower word would add. `offset` is a half, the zero
 * point less the least code, and half of a window: where a result lies so near to a half that the formula's roundings,
 * the lower word, and a factor of 16 digits (VIREO_MCU_SHORT) could lead to another code, the digits behind the point
 * are in the window, and the sum goes the long way. requantize.c has the bounds. */
typedef struct {
  float m;
#if !VIREO_MCU_FPU
  int32_t factor, offset, up, shift;
#endif
} mcu_multiplier;
#if VIREO_MCU_SHORT
#define MCU_WINDOW 6u /* one sum in 2^6 */
#else
#define MCU_WINDOW 10u
#endif
/* Sums are within +-most. With a floating-point unit, m is all there is to it: not called there. */
void vireo_mcu_ready(mcu_multiplier* by, float m, uint32_t most, const vireo_mcu_codes* codes);

/* A bound of a sum of `count` products of codes less their zero points, and of a bias. */
MCU_INLINE uint32_t mcu_most(int32_t count, int has_w_zero, int32_t bias) {
  const uint32_t products = (uint32_t)count * (has_w_zero ? 255u * 255u : 255u * 128u); /* count is at most 32768 */
  const uint32_t most = products + (bias < 0 ? 0u - (uint32_t)bias : (uint32_t)bias);
  return most < products ? UINT32_MAX : most;
}

/* Whether rounded numbers may be +-2^31, as Cortex-M's FPU gives them; else they are within +-2^30. */
#if VIREO_MCU_FPU && defined(__ARM_FP) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define MCU_SATURATES 1
#else
#define MCU_SATURATES 0
#endif

/* rne(v) within +-2^20, beyond it some number of its sign beyond +-2^19. Of a NaN as of -inf, but 0 of Cortex-M's
 * FPU. */
MCU_INLINE int32_t mcu_round(float v) {
#if MCU_SATURATES
  int32_t r;
  __asm__("vcvtr.s32.f32 %0, %0" : "+t"(v)); /* by FPSCR, to nearest even; saturates */
  memcpy(&r, &v, 4);
  return r;
#else
  /* At 1.5 * 2^23 the last bit of a float32 is worth 1. */
  if (!(v > -1048576.0f)) return -1048577;
  if (v > 1048576.0f) return 1048577;
  return (int32_t)mcu_bits(v + 12582912.0f) - 0x4B400000;
#endif
}

/* rne(float(sum) * m), exact within +-511 and of the right sign beyond. */
MCU_INLINE int32_t mcu_scaled(int32_t sum, float m) {
#if VIREO_MCU_FPU
  return mcu_round((float)sum * m);
#else
  return vireo_mcu_scale_8(sum, mcu_bits(m));
#endif
}

/* A rounded number to a code. */
MCU_INLINE int32_t mcu_to_code(int32_t r, const vireo_mcu_codes* codes) {
#if MCU_SATURATES
  /* +-2^31 must not wrap around. Beyond +-65,535 a zero point changes nothing. These bounds are one instruction. */
  r = r < -131072 ? -131072 : r > 131071 ? 131071 : r;
#endif
  r += codes->zero;
  return r < codes->low ? codes->low : r > codes->high ? codes->high : r;
}

/* Codes of 8 bits of a sum. */
MCU_INLINE int32_t mcu_requantize(int32_t sum, float m, const vireo_mcu_codes* codes) {
  return mcu_to_code(mcu_scaled(sum, m), codes);
}

MCU_INLINE void mcu_make_ready(mcu_multiplier* by, float m, uint32_t most, const vireo_mcu_codes* codes) {
#if VIREO_MCU_FPU
  (void)most, (void)codes;
  by->m = m;
#else
  vireo_mcu_ready(by, m, most, codes);
#endif
}

#if !VIREO_MCU_FPU
/* The code of a raised sum less the least code, before the clamp. */
MCU_INLINE int32_t mcu_of_raised(int32_t raised, const mcu_multiplier* by, const vireo_mcu_codes* codes) {
#if VIREO_MCU_SHORT
  const uint32_t low = (uint32_t)raised & 0xFFFFu;
  const int32_t high = (raised >> 16) * by->factor + (int32_t)(low * (uint32_t)by->factor >> 16);
#else
  const int32_t high = (int32_t)((int64_t)raised * by->factor >> 32);
#endif
  const int32_t p = high + by->offset;
  if ((uint32_t)p << (32 - by->shift) >> (32u - MCU_WINDOW) == 0)
    return vireo_mcu_scale_8(raised >> by->up, mcu_bits(by->m)) + codes->zero - codes->low;
  return p >> by->shift;
}
#endif

/* Sums of which some are already raised: without a floating-point unit only. */
MCU_INLINE int32_t mcu_raise(int32_t v, const mcu_multiplier* by) {
#if VIREO_MCU_FPU
  (void)by;
  return v;
#else
  return (int32_t)((uint32_t)v << by->up);
#endif
}
MCU_INLINE int32_t mcu_requantize_raised(int32_t raised, const mcu_multiplier* by, const vireo_mcu_codes* codes) {
#if VIREO_MCU_FPU
  return mcu_requantize(raised, by->m, codes);
#else
  const int32_t range = codes->high - codes->low;
  int32_t y = mcu_of_raised(raised, by, codes);
  if ((uint32_t)y > (uint32_t)range) y = range & ~(y >> 31);
  return y + codes->low;
#endif
}

MCU_INLINE int32_t mcu_requantize_by(int32_t sum, const mcu_multiplier* by, const vireo_mcu_codes* codes) {
  return mcu_requantize_raised(mcu_raise(sum, by), by, codes);
}

#if VIREO_MCU_LANES
/* Of two sums, in lanes, less the type's least code: for codes that are bounded by their type alone. up: the zero point
 * less that code, in both lanes. */
MCU_INLINE uint32_t mcu_two_codes(uint32_t low, uint32_t high, const mcu_multiplier* by_low,
                                  const mcu_multiplier* by_high, const vireo_mcu_codes* codes, uint32_t up) {
#if VIREO_MCU_FPU
  (void)codes;
  return mcu_clamp_bytes(
      mcu_add_saturate(mcu_saturated(mcu_scaled((int32_t)low, by_low->m), mcu_scaled((int32_t)high, by_high->m)), up));
#else
  (void)up;
  return mcu_clamp_bytes(mcu_saturated(mcu_of_raised(mcu_raise((int32_t)low, by_low), by_low, codes),
                                       mcu_of_raised(mcu_raise((int32_t)high, by_high), by_high, codes)));
#endif
}
#endif

#if VIREO_MCU_MVE
/* Four numbers to codes, each in the low byte of its lane. */
MCU_INLINE int32x4_t mcu_four_to_codes(float32x4_t v, const vireo_mcu_codes* codes) {
  const int32x4_t r = vqaddq_n_s32(vcvtnq_s32_f32(v), codes->zero); /* to nearest even; saturates */
  return vminq_s32(vmaxq_s32(r, vdupq_n_s32(codes->low)), vdupq_n_s32(codes->high));
}
/* Codes of four sums. The vector unit takes subnormal numbers for 0; a product that is one rounds to 0 anyway. */
MCU_INLINE int32x4_t mcu_four_codes(int32x4_t sums, float m, const vireo_mcu_codes* codes) {
  return mcu_four_to_codes(vmulq_n_f32(vcvtq_f32_s32(sums), m), codes);
}
#endif

/* Whether all of these are positive normal numbers. */
int vireo_mcu_multipliers_serve(const float* m, int32_t count);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATES_MCU_KERNELS_REQUANTIZE_H_ */
