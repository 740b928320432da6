/* Convolutions whose groups have one input channel: filters that slide over one plane each.
 *
 * Rows of a plane are copied into a band with its padding, as signed bytes whatever the type; both layouts are the same
 * behind that. The zero point of x goes into the bias: sums wrap around, so that is exact. */
#ifndef VIREO_DELEGATES_MCU_KERNELS_DEPTHWISE_H_
#define VIREO_DELEGATES_MCU_KERNELS_DEPTHWISE_H_

#include "delegates/mcu/kernels/product.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As vireo_mcu_conv_run, of a convolution that vireo_mcu_is_depthwise and has no nibbles. */
void vireo_mcu_depthwise_run_units(const vireo_mcu_conv* c, const uint8_t* x, const uint8_t* w, const float* m,
                                   const int32_t* bias, const int8_t* w_zero, uint8_t* y, void* scratch,
                                   vireo_mcu_units units);
/* A unit is a strip of a plane's rows. */
uint32_t vireo_mcu_depthwise_units(const vireo_mcu_conv* c);
static inline void vireo_mcu_depthwise_run(const vireo_mcu_conv* c, const uint8_t* x, const uint8_t* w, const float* m,
                                           const int32_t* bias, const int8_t* w_zero, uint8_t* y, void* scratch) {
  const vireo_mcu_units all = {0, VIREO_MCU_ALL_UNITS};
  vireo_mcu_depthwise_run_units(c, x, w, m, bias, w_zero, y, scratch, all);
}
uint32_t vireo_mcu_depthwise_scratch(const vireo_mcu_conv* c);
/* Whether y may be x: a plane is in scratch memory, whole, before any of it is written. */
int vireo_mcu_depthwise_in_place(const vireo_mcu_conv* c);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATES_MCU_KERNELS_DEPTHWISE_H_ */
