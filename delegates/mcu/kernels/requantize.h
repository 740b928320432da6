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

MCU_INLINE uint32_t mcu_bits(float v) {
  uint32_t bits;
  memcpy(&bits, &v, 4);
  return bits;
}

/* rne(float(sum) * m) in integers, for any sum; beyond +-2^30 it is +-2^30. Each of the three roundings of the formula
 * is one of the integer roundings here: the sum to 24 bits, the product to 24 bits, the result to an integer. */
int32_t vireo_mcu_scale(int64_t sum, uint32_t m_bits);

/* The same where the clamp to 8 bits follows: |result| past 511 may be any number past 511 of the same sign.
 *
 * m = M 2^-(32 + t) with 24 significant bits in M: p = sum * M is exact, and p / 2^(32 + t) is the real result. The
 * formula's first two roundings move it by at most 2^-23 of itself, 2^-14 while it is below 512. Where it is further
 * than that from every half, one rounding gives what three give. */
MCU_INLINE int32_t mcu_scale_8(int32_t sum, uint32_t m_bits) {
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
  const int64_t p = (int64_t)sum * mantissa;
  const int32_t high = (int32_t)(p >> 32);
  const uint32_t fraction = ((uint32_t)high << (32 - t)) | ((uint32_t)p >> t);
  if (fraction - 0x7FFC0000u <= 0x80000u) return vireo_mcu_scale(sum, m_bits);
  return (high >> t) + (int32_t)(fraction >> 31);
}

/* The exact product. Armv6-M multiplies 32 bits by 32 to 32, and its compilers' library multiplies 64 by 64. */
MCU_INLINE int64_t mcu_product(int32_t sum, int32_t mantissa) {
#if defined(__ARM_ARCH_6M__)
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

/* A multiplier of several sums, taken apart once. */
typedef struct {
  float m;
  int32_t mantissa, shift; /* as in mcu_scale_8; shift 0: it is too large or too small for that */
} mcu_multiplier;

MCU_INLINE mcu_multiplier mcu_multiplier_of(float m) {
  const uint32_t bits = mcu_bits(m);
  const int32_t t = 125 - (int32_t)(bits >> 23);
  const mcu_multiplier all = {m, (int32_t)(((bits & 0x7FFFFFu) | 0x800000u) << 7), t < 1 || t > 31 ? 0 : t};
  return all;
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
  return mcu_scale_8(sum, mcu_bits(m));
#endif
}

/* mcu_scale_8 where a loop should make no room for it. */
int32_t vireo_mcu_scale_8(int32_t sum, uint32_t m_bits);

MCU_INLINE int32_t mcu_scaled_by(int32_t sum, const mcu_multiplier* m) {
#if VIREO_MCU_FPU
  return mcu_round((float)sum * m->m);
#else
  const int32_t t = m->shift;
  if (t == 0) return vireo_mcu_scale_8(sum, mcu_bits(m->m));
  const int64_t p = mcu_product(sum, m->mantissa);
  const int32_t high = (int32_t)(p >> 32);
  const uint32_t fraction = ((uint32_t)high << (32 - t)) | ((uint32_t)p >> t);
  if (fraction - 0x7FFC0000u <= 0x80000u) return vireo_mcu_scale(sum, mcu_bits(m->m));
  return (high >> t) + (int32_t)(fraction >> 31);
#endif
}

/* A rounded number to a code. */
MCU_INLINE int32_t mcu_to_code(int32_t r, const vireo_mcu_codes* codes) {
#if MCU_SATURATES
  /* +-2^31 must not wrap around. Beyond +-65,535 a zero point changes nothing. */
  r = r < -131072 ? -131072 : r > 131072 ? 131072 : r;
#endif
  r += codes->zero;
  return r < codes->low ? codes->low : r > codes->high ? codes->high : r;
}

/* Codes of 8 bits of a sum. */
MCU_INLINE int32_t mcu_requantize(int32_t sum, float m, const vireo_mcu_codes* codes) {
  return mcu_to_code(mcu_scaled(sum, m), codes);
}

MCU_INLINE int32_t mcu_requantize_by(int32_t sum, const mcu_multiplier* m, const vireo_mcu_codes* codes) {
  return mcu_to_code(mcu_scaled_by(sum, m), codes);
}

#if VIREO_MCU_LANES
/* Of two sums, in lanes, less the type's least code: for codes that are bounded by their type alone. up: the zero point
 * less that code, in both lanes. */
MCU_INLINE uint32_t mcu_two_codes(uint32_t low, uint32_t high, float m_low, float m_high, uint32_t up) {
  return mcu_clamp_bytes(
      mcu_add_saturate(mcu_saturated(mcu_scaled((int32_t)low, m_low), mcu_scaled((int32_t)high, m_high)), up));
}
#endif

#if VIREO_MCU_MVE
/* Codes of four sums, each in the low byte of its lane. The vector unit takes subnormal numbers for 0; a product that
 * is one rounds to 0 anyway. */
MCU_INLINE int32x4_t mcu_four_codes(int32x4_t sums, float m, const vireo_mcu_codes* codes) {
  const float32x4_t v = vmulq_n_f32(vcvtq_f32_s32(sums), m);
  const int32x4_t r = vqaddq_n_s32(vcvtnq_s32_f32(v), codes->zero); /* to nearest even; saturates */
  return vminq_s32(vmaxq_s32(r, vdupq_n_s32(codes->low)), vdupq_n_s32(codes->high));
}
#endif

/* Whether all of these are positive normal numbers. */
int vireo_mcu_multipliers_serve(const float* m, int32_t count);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATES_MCU_KERNELS_REQUANTIZE_H_ */
