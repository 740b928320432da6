/* Sums of products of codes: convolutions of any window with their groups, and matrix products.
 *
 *   y[p, c] = requantize(bias[c] + sum over k (x[p, k] - x_zero)(w[c, k] - w_zero[c]), m[c])
 *
 * Positions are taken in blocks, output channels in pairs. A block of x, and a pair of filters, are widened to 16 bits
 * less their zero points in scratch memory: weights are read as the file has them, and the innermost loop is the same
 * for every type, zero point and layout. Sums wrap around. */
#ifndef VIREO_DELEGATES_MCU_KERNELS_PRODUCT_H_
#define VIREO_DELEGATES_MCU_KERNELS_PRODUCT_H_

#include "delegates/mcu/kernels/requantize.h"

/* Positions of a tile. Eight sums, four values of x and two weights fit into the registers of Armv7-M, not into the
 * eight low ones of Armv6-M. */
#ifndef VIREO_MCU_TILE
#if defined(__ARM_ARCH_6M__)
#define VIREO_MCU_TILE 2
#else
#define VIREO_MCU_TILE 4
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int32_t batch, groups, in_channels, out_channels; /* channels of one group */
  int32_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2];
  vireo_mcu_codes codes;
  uint8_t x_zero;         /* as a byte of x's type */
  uint8_t x_flip, y_flip; /* 0x80: unsigned, 0: signed */
  uint8_t last;           /* channels last, in x and y */
  uint8_t w_nibbles;      /* weights of 4 bits, two to a byte, the first in the low half */
  uint8_t one_multiplier, one_w_zero;
} vireo_mcu_conv;

/* Units (vireo_mcu_units) of a product: each tile of a block of positions is widened, then each pair of channels is
 * multiplied. */

/* x [batch, groups * in_channels, in...], w [groups * out_channels, in_channels, kernel...], y as x. bias and w_zero
 * may be null. y shares no memory with x. scratch: 8-byte aligned. */
void vireo_mcu_conv_run_units(const vireo_mcu_conv* c, const uint8_t* x, const uint8_t* w, const float* m,
                              const int32_t* bias, const int8_t* w_zero, uint8_t* y, void* scratch,
                              vireo_mcu_units units);
uint32_t vireo_mcu_conv_units(const vireo_mcu_conv* c);
static inline void vireo_mcu_conv_run(const vireo_mcu_conv* c, const uint8_t* x, const uint8_t* w, const float* m,
                                      const int32_t* bias, const int8_t* w_zero, uint8_t* y, void* scratch) {
  const vireo_mcu_units all = {0, VIREO_MCU_ALL_UNITS};
  vireo_mcu_conv_run_units(c, x, w, m, bias, w_zero, y, scratch, all);
}
uint32_t vireo_mcu_conv_scratch(const vireo_mcu_conv* c);
/* On a core whose VIREO_MCU_TILE is `tile`. */
uint32_t vireo_mcu_conv_scratch_on(const vireo_mcu_conv* c, int32_t tile);
/* Whether y may be x, of in_channels * groups == out_channels * groups, on such a core. */
int vireo_mcu_conv_in_place(const vireo_mcu_conv* c, int32_t tile);

/* Filters of one input channel: no product, but windows that slide over a plane. */
static inline int vireo_mcu_is_depthwise(const vireo_mcu_conv* c) { return c->in_channels == 1 && c->groups > 1; }

/* a [m, k], b [k, n] of bytes or nibbles, y [m, n]. */
typedef struct {
  int32_t m, n, k;
  vireo_mcu_codes codes;
  uint8_t a_zero, a_flip, b_flip, y_flip, b_nibbles, one_multiplier, one_b_zero;
} vireo_mcu_gemm;
void vireo_mcu_gemm_run_units(const vireo_mcu_gemm* g, const uint8_t* a, const uint8_t* b, const float* m,
                              const int32_t* bias, const int8_t* b_zero, uint8_t* y, void* scratch,
                              vireo_mcu_units units);
uint32_t vireo_mcu_gemm_units(const vireo_mcu_gemm* g);
static inline void vireo_mcu_gemm_run(const vireo_mcu_gemm* g, const uint8_t* a, const uint8_t* b, const float* m,
                                      const int32_t* bias, const int8_t* b_zero, uint8_t* y, void* scratch) {
  const vireo_mcu_units all = {0, VIREO_MCU_ALL_UNITS};
  vireo_mcu_gemm_run_units(g, a, b, m, bias, b_zero, y, scratch, all);
}
uint32_t vireo_mcu_gemm_scratch(const vireo_mcu_gemm* g);
uint32_t vireo_mcu_gemm_scratch_on(const vireo_mcu_gemm* g, int32_t tile);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATES_MCU_KERNELS_PRODUCT_H_ */
