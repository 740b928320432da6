/* Averages over all positions of an image whose rows come some at a time (plan/strips.h): with the bits of
 * vireo_mcu_average and vireo_mcu_average_reals over that window.
 *
 * Two ways were weighed. A kernel with state, which is this one, costs an image that has it some 300 bytes, and none to
 * others. The pools' own kernels, told the first and the last row, would need the same state, and would carry the code
 * into every image that has a pool. */
#ifndef VIREO_DELEGATES_MCU_KERNELS_POOL_ROWS_H_
#define VIREO_DELEGATES_MCU_KERNELS_POOL_ROWS_H_

#include "delegates/mcu/kernels/requantize.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a call: `rows` of each plane from row `first` of all on. */
typedef struct {
  int32_t planes, rows, columns;
  int32_t first, all;
} vireo_mcu_rows;

typedef struct {
  vireo_mcu_rows rows;
  vireo_mcu_codes codes;
  uint8_t x_zero, x_flip;
  uint8_t last; /* channels last */
  uint8_t one_multiplier;
} vireo_mcu_pool_rows;
/* sums: one for each plane, from the first row to the last one. y is written with the last row. A unit is a plane. */
void vireo_mcu_average_rows(const vireo_mcu_pool_rows* p, const uint8_t* x, const float* m, int32_t* sums, uint8_t* y,
                            vireo_mcu_units units);

/* y has the sums until the last row. A unit is a plane. */
void vireo_mcu_average_rows_reals(const vireo_mcu_rows* p, const float* x, float* y, vireo_mcu_units units);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATES_MCU_KERNELS_POOL_ROWS_H_ */
