/* Pools over two spatial axes, of codes of 8 bits. */
#ifndef VIREO_DELEGATES_MCU_KERNELS_POOL_H_
#define VIREO_DELEGATES_MCU_KERNELS_POOL_H_

#include "delegates/mcu/kernels/requantize.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int32_t batch, channels;
  int32_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2], pad_end[2];
  vireo_mcu_codes codes; /* of an average */
  uint8_t x_zero, x_flip;
  uint8_t last;          /* channels last */
  uint8_t count_padding; /* an average divides by taps in the padding too */
  uint8_t one_multiplier;
} vireo_mcu_pool;

/* y = requantize(sum of (x - x_zero) in the window, m[taps counted]). m: one, or one for each number of taps from 0. */
void vireo_mcu_average(const vireo_mcu_pool* p, const uint8_t* x, const float* m, uint8_t* y);
/* The greatest code; padding is less than any. */
void vireo_mcu_max(const vireo_mcu_pool* p, const uint8_t* x, uint8_t* y);

/* The same in units of some channels at one position. m is null of a maximum. */
void vireo_mcu_pool_run_units(const vireo_mcu_pool* p, const uint8_t* x, const float* m, uint8_t* y,
                              vireo_mcu_units units);
uint32_t vireo_mcu_pool_units(const vireo_mcu_pool* p);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATES_MCU_KERNELS_POOL_H_ */
