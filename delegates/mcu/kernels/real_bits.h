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
