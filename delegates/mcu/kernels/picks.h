/* Elements of any type that are chosen by tables or by conditions. */
#ifndef VIREO_DELEGATES_MCU_KERNELS_PICKS_H_
#define VIREO_DELEGATES_MCU_KERNELS_PICKS_H_

#include "delegates/mcu/kernels/requantize.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y [outer, count, row] = x [outer, axis, row], at row table[i] for i < count: Gather, Pad, Tile, Resize to the
 * nearest. An entry below 0 counts from the end where `wraps` is set. One outside gives `fill`, whose first bytes are
 * an element. The table has int32, or int64 where index_words is 2. A unit is a row of y. */
typedef struct {
  int32_t outer, count, axis, row_bytes;
  uint32_t fill[2];
  uint8_t element_bytes, index_words, wraps, reserved;
} vireo_mcu_pick;
void vireo_mcu_pick_run(const vireo_mcu_pick* p, const void* x, const int32_t* table, void* y, vireo_mcu_units units);

/* y[r, i] = condition ? a : b, elements of 1, 2, 4 or 8 bytes: Where. Conditions are bytes. The three are broadcast as
 * in vireo_mcu_binary. A unit is a part of a row (parts.h). */
typedef struct {
  int32_t rows, columns, row[3], step[3]; /* of condition, a, b */
  int32_t element_bytes;
} vireo_mcu_choose;
void vireo_mcu_choose_run(const vireo_mcu_choose* c, const uint8_t* condition, const void* a, const void* b, void* y,
                          vireo_mcu_units units);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATES_MCU_KERNELS_PICKS_H_ */
