/* Two 16-bit lanes in a word: the DSP extension of Armv7E-M and Armv8-M, or the same operations in C.
 *
 * VIREO_MCU_LANES is 1 where kernels use lanes. A build that sets it to 1 on a core without the extension gets the
 * operations in C, so that a workstation runs the very algorithm that a Cortex-M4 runs. */
#ifndef VIREO_DELEGATES_MCU_KERNELS_LANES_H_
#define VIREO_DELEGATES_MCU_KERNELS_LANES_H_

#include <stdint.h>
#include <string.h>

#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32)
#include <arm_acle.h>
#define VIREO_MCU_DSP 1
#else
#define VIREO_MCU_DSP 0
#endif
#ifndef VIREO_MCU_LANES
#define VIREO_MCU_LANES VIREO_MCU_DSP
#endif
/* VIREO_MCU_MVE: vectors of 16 bytes, of numbers and of float32 (the vector extension of Armv8.1-M). */
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2) != 0
#include <arm_mve.h>
#define VIREO_MCU_MVE 1
#else
#define VIREO_MCU_MVE 0
#endif

/* A few instructions, also where the compiler is asked for small code; a loop that wants all registers for itself; and
 * what no loop should make room for. */
#if defined(__GNUC__)
#define MCU_INLINE static inline __attribute__((always_inline))
#define MCU_APART __attribute__((noinline))
#define MCU_COLD __attribute__((noinline, cold))
#else
#define MCU_INLINE static inline
#define MCU_APART
#define MCU_COLD
#endif

#if VIREO_MCU_MVE
/* Four numbers as a vector, without a way through memory. */
MCU_INLINE int32x4_t mcu_vector(int32_t a, int32_t b, int32_t c, int32_t d) {
  int32x4_t v;
  __asm__("vmov %q0[2], %q0[0], %1, %3\n vmov %q0[3], %q0[1], %2, %4" : "=&w"(v) : "r"(a), "r"(b), "r"(c), "r"(d));
  return v;
}
#endif

/* Words at any address; one instruction where the core loads unaligned words. */
MCU_INLINE uint32_t mcu_load(const void* p) {
  uint32_t v;
  memcpy(&v, p, 4);
  return v;
}
MCU_INLINE void mcu_store(void* p, uint32_t v) { memcpy(p, &v, 4); }
MCU_INLINE void mcu_store_half(void* p, uint32_t v) {
  const uint16_t half = (uint16_t)v;
  memcpy(p, &half, 2);
}

#if VIREO_MCU_LANES
/* Two numbers, each clamped to 16 bits, as lanes. */
#if VIREO_MCU_DSP
MCU_INLINE uint32_t mcu_saturated(int32_t low, int32_t high) {
  uint32_t lanes; /* compilers take two instructions where they know that the upper half of `low` is its sign */
  __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(lanes) : "r"(__ssat(low, 16)), "r"(__ssat(high, 16)));
  return lanes;
}
#else
MCU_INLINE int32_t mcu_saturate16(int32_t v) { return v < -32768 ? -32768 : v > 32767 ? 32767 : v; }
MCU_INLINE uint32_t mcu_saturated(int32_t low, int32_t high) {
  return ((uint32_t)mcu_saturate16(low) & 0xFFFFu) | ((uint32_t)mcu_saturate16(high) << 16);
}
#endif
/* (low half of low, low half of high), and (high half of low, high half of high). */
MCU_INLINE uint32_t mcu_lows(uint32_t low, uint32_t high) { return (low & 0xFFFFu) | (high << 16); }
MCU_INLINE uint32_t mcu_highs(uint32_t low, uint32_t high) { return (low >> 16) | (high & 0xFFFF0000u); }

#if VIREO_MCU_DSP
/* Bytes 0 and 2, bytes 1 and 3 as signed lanes. */
MCU_INLINE uint32_t mcu_even(uint32_t x) { return (uint32_t)__sxtb16((int8x4_t)x); }
MCU_INLINE uint32_t mcu_odd(uint32_t x) {
  uint32_t r;
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(r) : "r"(x));
  return r;
}
MCU_INLINE uint32_t mcu_sub(uint32_t a, uint32_t b) { return (uint32_t)__ssub16((int16x2_t)a, (int16x2_t)b); }
/* sum + a.low * b.low + a.high * b.high; then single products, named by the lanes of a and b. Sums wrap around. */
MCU_INLINE uint32_t mcu_dot(uint32_t a, uint32_t b, uint32_t sum) {
  return (uint32_t)__smlad((int16x2_t)a, (int16x2_t)b, (int32_t)sum);
}
MCU_INLINE uint32_t mcu_low_low(uint32_t a, uint32_t b, uint32_t sum) {
  return (uint32_t)__smlabb((int32_t)a, (int32_t)b, (int32_t)sum);
}
MCU_INLINE uint32_t mcu_low_high(uint32_t a, uint32_t b, uint32_t sum) {
  return (uint32_t)__smlabt((int32_t)a, (int32_t)b, (int32_t)sum);
}
MCU_INLINE uint32_t mcu_high_low(uint32_t a, uint32_t b, uint32_t sum) {
  return (uint32_t)__smlatb((int32_t)a, (int32_t)b, (int32_t)sum);
}
MCU_INLINE uint32_t mcu_high_high(uint32_t a, uint32_t b, uint32_t sum) {
  return (uint32_t)__smlatt((int32_t)a, (int32_t)b, (int32_t)sum);
}
/* Lanes added with saturation, and clamped to 0..255. */
MCU_INLINE uint32_t mcu_add_saturate(uint32_t a, uint32_t b) { return (uint32_t)__qadd16((int16x2_t)a, (int16x2_t)b); }
MCU_INLINE uint32_t mcu_clamp_bytes(uint32_t a) { return (uint32_t)__usat16((int16x2_t)a, 8); }
#else
MCU_INLINE int32_t mcu_lane(uint32_t x, int high) { return (int16_t)(uint16_t)(high ? x >> 16 : x); }
MCU_INLINE uint32_t mcu_lanes(int32_t low, int32_t high) { return ((uint32_t)low & 0xFFFFu) | ((uint32_t)high << 16); }
MCU_INLINE uint32_t mcu_even(uint32_t x) { return mcu_lanes((int8_t)(uint8_t)x, (int8_t)(uint8_t)(x >> 16)); }
MCU_INLINE uint32_t mcu_odd(uint32_t x) { return mcu_even(x >> 8); }
MCU_INLINE uint32_t mcu_sub(uint32_t a, uint32_t b) {
  return mcu_lanes(mcu_lane(a, 0) - mcu_lane(b, 0), mcu_lane(a, 1) - mcu_lane(b, 1));
}
MCU_INLINE uint32_t mcu_low_low(uint32_t a, uint32_t b, uint32_t sum) {
  return sum + (uint32_t)(mcu_lane(a, 0) * mcu_lane(b, 0));
}
MCU_INLINE uint32_t mcu_low_high(uint32_t a, uint32_t b, uint32_t sum) {
  return sum + (uint32_t)(mcu_lane(a, 0) * mcu_lane(b, 1));
}
MCU_INLINE uint32_t mcu_high_low(uint32_t a, uint32_t b, uint32_t sum) {
  return sum + (uint32_t)(mcu_lane(a, 1) * mcu_lane(b, 0));
}
MCU_INLINE uint32_t mcu_high_high(uint32_t a, uint32_t b, uint32_t sum) {
  return sum + (uint32_t)(mcu_lane(a, 1) * mcu_lane(b, 1));
}
MCU_INLINE uint32_t mcu_dot(uint32_t a, uint32_t b, uint32_t sum) {
  return mcu_high_high(a, b, mcu_low_low(a, b, sum));
}
MCU_INLINE uint32_t mcu_add_saturate(uint32_t a, uint32_t b) {
  return mcu_lanes(mcu_saturate16(mcu_lane(a, 0) + mcu_lane(b, 0)), mcu_saturate16(mcu_lane(a, 1) + mcu_lane(b, 1)));
}
MCU_INLINE int32_t mcu_byte(int32_t v) { return v < 0 ? 0 : v > 255 ? 255 : v; }
MCU_INLINE uint32_t mcu_clamp_bytes(uint32_t a) {
  return mcu_lanes(mcu_byte(mcu_lane(a, 0)), mcu_byte(mcu_lane(a, 1)));
}
#endif
#endif

#endif /* VIREO_DELEGATES_MCU_KERNELS_LANES_H_ */
