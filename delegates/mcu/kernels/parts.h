/* Results that are computed one by one, in rows: units of work are parts of 64 of them. */
#ifndef VIREO_DELEGATES_MCU_KERNELS_PARTS_H_
#define VIREO_DELEGATES_MCU_KERNELS_PARTS_H_

#include "delegates/mcu/kernels/lanes.h"
#include "delegates/mcu/kernels/requantize.h"

enum { MCU_PART = 64 };

/* Where a part begins: element `from` of row `row`. */
typedef struct {
  int32_t columns, row, from;
  uint32_t left;
} mcu_parts;

MCU_INLINE uint32_t mcu_parts_of(int32_t rows, int32_t columns) {
  return (uint32_t)rows * (((uint32_t)columns + MCU_PART - 1) / MCU_PART);
}
MCU_INLINE mcu_parts mcu_first_part(int32_t rows, int32_t columns, vireo_mcu_units units) {
  const uint32_t of_row = ((uint32_t)columns + MCU_PART - 1) / MCU_PART, all = (uint32_t)rows * of_row;
  const uint32_t end = units.to < all ? units.to : all;
  const int32_t row = mcu_divide((int32_t)units.from, (int32_t)of_row);
  mcu_parts p = {columns, row, ((int32_t)units.from - row * (int32_t)of_row) * MCU_PART, end - units.from};
  return p;
}
MCU_INLINE int32_t mcu_part_count(const mcu_parts* p) {
  return p->columns - p->from < MCU_PART ? p->columns - p->from : MCU_PART;
}
MCU_INLINE void mcu_next_part(mcu_parts* p) {
  --p->left;
  p->from += MCU_PART;
  if (p->from >= p->columns) p->from = 0, ++p->row;
}

#endif /* VIREO_DELEGATES_MCU_KERNELS_PARTS_H_ */
