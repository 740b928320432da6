/* Float32 numbers by their bits, and roots: what sources of float32 operators share. */
#ifndef VIREO_DELEGATES_MCU_KERNELS_REAL_BITS_H_
#define VIREO_DELEGATES_MCU_KERNELS_REAL_BITS_H_

#include "delegates/mcu/kernels/lanes.h"
#include "delegates/mcu/kernels/reals.h"

MCU_INLINE float mcu_of_bits(uint32_t bits) {
  float v;
  memcpy(&v, &bits, 4);
  return v;
}
MCU_INLINE float mcu_absolute(float x) { return mcu_of_bits(mcu_bits(x) & 0x7FFFFFFFu); }

/* VIREO_MCU_REALS_ASM: loops in assembly, which take a number's sign for "below 0". So they run with NaNs that have
 * none: mcu_plain_nans() before them, and mcu_set_nans() of what it gave behind them. */
#if defined(__thumb2__) && defined(__ARM_FP) && defined(__OPTIMIZE__) && !defined(__clang__)
#define VIREO_MCU_REALS_ASM 1
MCU_INLINE uint32_t mcu_plain_nans(void) {
  uint32_t was, now;
  __asm__ volatile("vmrs %0, fpscr\n orr %1, %0, #0x2000000\n vmsr fpscr, %1" : "=r"(was), "=r"(now) : : "memory");
  return was;
}
MCU_INLINE void mcu_set_nans(uint32_t was) { __asm__ volatile("vmsr fpscr, %0" : : "r"(was) : "memory"); }
#else
#define VIREO_MCU_REALS_ASM 0
#endif

/* Elements to the next place, and both places moved on. Compilers make twice the instructions of it. */
#if VIREO_MCU_REALS_ASM
#define MCU_COPY_FOUR(to, from)                              \
  __asm__ volatile("ldmia %0!, {r0-r3}\n stmia %1!, {r0-r3}" \
                   : "+r"(from), "+r"(to)                    \
                   :                                         \
                   : "r0", "r1", "r2", "r3", "memory")
#define MCU_COPY_ONE(to, from) \
  __asm__ volatile("ldr r0, [%0], #4\n str r0, [%1], #4" : "+r"(from), "+r"(to) : : "r0", "memory")
#else
#define MCU_COPY_FOUR(to, from) (memcpy(to, from, 16), (to) += 4, (from) += 4)
#define MCU_COPY_ONE(to, from) (*(to)++ = *(from)++)
#endif

/* Correctly rounded, as a core's own is; of a negative number a NaN. */
MCU_INLINE float mcu_root(float x) {
  if (x < 0) return mcu_of_bits(0x7FC00000u);
#if defined(__arm__) && VIREO_MCU_FPU
  __asm__("vsqrt.f32 %0, %0" : "+t"(x));
  return x;
#elif defined(__riscv) && VIREO_MCU_FPU
  __asm__("fsqrt.s %0, %0" : "+f"(x));
  return x;
#else
  return x == 0 ? x : mcu_of_bits(vireo_mcu_root_of_bits(mcu_bits(x)));
#endif
}

#endif /* VIREO_DELEGATES_MCU_KERNELS_REAL_BITS_H_ */
