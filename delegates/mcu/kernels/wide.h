/* Operators on codes of 16 bits on either side, or both: weights have 8 bits (w8a16 in sdk/ops/INTEGER.md). Sums are
 * exact in 64 bits; the last step is the formula's, with a floating-point unit or in integers. Channels are first. */
#ifndef VIREO_DELEGATES_MCU_KERNELS_WIDE_H_
#define VIREO_DELEGATES_MCU_KERNELS_WIDE_H_

#include "delegates/mcu/kernels/requantize.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How codes lie in memory. */
enum { VIREO_MCU_I8, VIREO_MCU_U8, VIREO_MCU_I16, VIREO_MCU_U16 };

/* clamp(rne(float(sum) * m) + zero). */
int32_t vireo_mcu_requantize_wide(int64_t sum, float m, const vireo_mcu_codes* codes);

typedef struct {
  int32_t batch, groups, in_channels, out_channels; /* channels of one group */
  int32_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2];
  int32_t x_zero;
  vireo_mcu_codes codes;
  uint8_t x_type, y_type, one_multiplier, one_w_zero;
} vireo_mcu_conv_wide;

/* x [batch, groups * in_channels, in...], w [groups * out_channels, in_channels, kernel...] of int8. bias and w_zero
 * may be null. Units: a tile's positions are gathered, or a pair of channels of a block of tiles; a strip of a plane
 * where filters have one channel. */
void vireo_mcu_conv_wide_run(const vireo_mcu_conv_wide* c, const void* x, const int8_t* w, const float* m,
                             const int32_t* bias, const int8_t* w_zero, void* y, void* scratch, vireo_mcu_units units);
uint32_t vireo_mcu_conv_wide_units(const vireo_mcu_conv_wide* c);
uint32_t vireo_mcu_conv_wide_scratch(const vireo_mcu_conv_wide* c);
uint32_t vireo_mcu_conv_wide_scratch_on(const vireo_mcu_conv_wide* c, int32_t tile);
/* Whether y may be x. */
int vireo_mcu_conv_wide_in_place(const vireo_mcu_conv_wide* c);

/* a [m, k], b [k, n] of int8, y [m, n]. */
typedef struct {
  int32_t m, n, k;
  int32_t a_zero;
  vireo_mcu_codes codes;
  uint8_t a_type, y_type, one_multiplier, one_b_zero;
} vireo_mcu_gemm_wide;
void vireo_mcu_gemm_wide_run(const vireo_mcu_gemm_wide* g, const void* a, const int8_t* b, const float* m,
                             const int32_t* bias, const int8_t* b_zero, void* y, void* scratch, vireo_mcu_units units);
uint32_t vireo_mcu_gemm_wide_units(const vireo_mcu_gemm_wide* g);
uint32_t vireo_mcu_gemm_wide_scratch(const vireo_mcu_gemm_wide* g);
uint32_t vireo_mcu_gemm_wide_scratch_on(const vireo_mcu_gemm_wide* g, int32_t tile);

/* The average of whole windows: y = requantize(sum of (x - x_zero) inside of x, m[taps counted]). A unit is a plane. */
typedef struct {
  int32_t planes;
  int32_t in[2], out[2], kernel[2], stride[2], dilation[2], pad[2], pad_end[2];
  int32_t x_zero;
  vireo_mcu_codes codes;
  uint8_t x_type, y_type, count_padding, one_multiplier;
} vireo_mcu_pool_wide;
void vireo_mcu_average_wide(const vireo_mcu_pool_wide* p, const void* x, const float* m, void* y,
                            vireo_mcu_units units);

/* y[r, i] of a[r * a_row + i * a_step] and b[...]; y is [rows, columns]. A unit is a row. */
typedef struct {
  int32_t rows, columns, a_row, a_step, b_row, b_step;
  int32_t a_zero, b_zero;
  float a_multiplier, b_multiplier; /* of a product the first alone, positive and normal */
  vireo_mcu_codes codes;
  uint8_t a_type, b_type, y_type, times;
} vireo_mcu_binary_wide;
void vireo_mcu_binary_wide_run(const vireo_mcu_binary_wide* f, const void* a, const void* b, void* y,
                               vireo_mcu_units units);

/* Reals to codes of 16 bits and back: elements from..end. scale: a positive normal number. */
typedef struct {
  int32_t count;
  float scale;
  vireo_mcu_codes codes; /* back: zero alone */
  uint8_t type, reserved[3];
} vireo_mcu_quantize_wide;
void vireo_mcu_quantize_wide_run(const vireo_mcu_quantize_wide* q, const float* x, int32_t from, int32_t end, void* y);
void vireo_mcu_dequantize_wide_run(const vireo_mcu_quantize_wide* q, const void* x, int32_t from, int32_t end,
                                   float* y);

static inline int32_t mcu_code_at(const void* x, int32_t i, uint8_t type) {
  switch (type) {
    case VIREO_MCU_I8:
      return ((const int8_t*)x)[i];
    case VIREO_MCU_U8:
      return ((const uint8_t*)x)[i];
    case VIREO_MCU_I16:
      return ((const int16_t*)x)[i];
    default:
      return ((const uint16_t*)x)[i];
  }
}
static inline void mcu_put_code(void* y, int32_t i, uint8_t type, int32_t code) {
  if (type >= VIREO_MCU_I16) {
    ((uint16_t*)y)[i] = (uint16_t)code;
  } else {
    ((uint8_t*)y)[i] = (uint8_t)code;
  }
}

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATES_MCU_KERNELS_WIDE_H_ */
