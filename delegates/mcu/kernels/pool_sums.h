/* Sums of codes in rows, for pools. */
#ifndef VIREO_DELEGATES_MCU_KERNELS_POOL_SUMS_H_
#define VIREO_DELEGATES_MCU_KERNELS_POOL_SUMS_H_

#include "delegates/mcu/kernels/lanes.h"

/* The sum of `count` codes, `step` bytes apart, as signed bytes. */
static int32_t mcu_sum_row(const uint8_t* x, int32_t step, int32_t count, uint8_t flip) {
  int32_t sum = 0;
#if VIREO_MCU_MVE
  if (step == 1) {
    const uint8x16_t flips = vdupq_n_u8(flip);
    for (; count > 0; count -= 16, x += 16) {
      const mve_pred16_t in = vctp8q((uint32_t)count);
      sum = vaddvaq_p_s8(sum, vreinterpretq_s8_u8(veorq_u8(vldrbq_z_u8(x, in), flips)), in);
    }
  }
#elif VIREO_MCU_LANES
  if (step == 1) {
    uint32_t lanes = 0;
    for (; count >= 4; count -= 4, x += 4) {
      const uint32_t v = mcu_load(x) ^ flip * 0x01010101u;
      lanes = mcu_dot(mcu_even(v), 0x00010001u, lanes);
      lanes = mcu_dot(mcu_odd(v), 0x00010001u, lanes);
    }
    sum = (int32_t)lanes;
  }
#endif
  for (; count > 0; --count, x += step) sum += (int8_t)(uint8_t)(*x ^ flip);
  return sum;
}

#endif /* VIREO_DELEGATES_MCU_KERNELS_POOL_SUMS_H_ */
