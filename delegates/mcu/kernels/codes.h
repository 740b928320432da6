/* Operators on codes of 8 bits, element by element or along an axis: sdk/ops/INTEGER.md has the formulas. */
#ifndef VIREO_DELEGATES_MCU_KERNELS_CODES_H_
#define VIREO_DELEGATES_MCU_KERNELS_CODES_H_

#include "delegates/mcu/kernels/requantize.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y[r, i] = f(a[r * a_row + i * a_step], b[...]); y is [rows, columns]. */
typedef struct {
  int32_t rows, columns, a_row, a_step, b_row, b_step;
  uint8_t a_zero, a_flip, b_zero, b_flip;
  float a_multiplier, b_multiplier; /* below 2^100 either way; of a product the first alone, positive and normal */
  vireo_mcu_codes codes;
} vireo_mcu_binary;
void vireo_mcu_add(const vireo_mcu_binary* f, const uint8_t* a, const uint8_t* b, uint8_t* y);
void vireo_mcu_mul(const vireo_mcu_binary* f, const uint8_t* a, const uint8_t* b, uint8_t* y);

/* y[i] = table[x[i]] */
void vireo_mcu_table(const uint8_t* table, const uint8_t* x, int32_t count, uint8_t* y);

/* Along the middle one of [outer, axis, inner]; axis <= 255. table: 256 numbers from 0 to 2^23. */
typedef struct {
  int32_t outer, axis, inner;
  uint8_t x_flip;
  float multiplier;
  vireo_mcu_codes codes;
} vireo_mcu_softmax;
void vireo_mcu_softmax_run(const vireo_mcu_softmax* s, const uint8_t* x, const int32_t* table, uint8_t* y);

/* clamp(rne(x / scale) + zero), a NaN becomes low; (x - zero) * scale. scale: a positive normal number. */
void vireo_mcu_quantize(const float* x, int32_t count, float scale, const vireo_mcu_codes* codes, uint8_t* y);
void vireo_mcu_dequantize(const uint8_t* x, int32_t count, uint8_t flip, uint8_t zero, float scale, float* y);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATES_MCU_KERNELS_CODES_H_ */
