/* Integers element by element, casts, and where the greatest element is, as records. */
#include "delegates/mcu/kernels/integers.h"
#include "delegates/mcu/kernels/parts.h"
#include "delegates/mcu/plan/call.h"

static uint32_t bytes_of_type(uint32_t type) {
  switch (type) {
    case VIREO_MCU_BYTE:
    case VIREO_MCU_SIGNED_BYTE:
    case VIREO_MCU_BOOL:
      return 1;
    case VIREO_MCU_HALF:
    case VIREO_MCU_SIGNED_HALF:
      return 2;
    case VIREO_MCU_LONG:
      return 8;
    default:
      return 4;
  }
}

/* ---- Operands: a, b, y */

static int needs_of_integers(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_integers* const f = (const vireo_mcu_integers*)parameters;
  if (!mcu_are_between(&f->rows, 2, 1, VIREO_PLAN_MOST) || !mcu_are_between(&f->a_row, 4, 0, VIREO_PLAN_MOST) ||
      f->what >= VIREO_MCU_INT_OPERATIONS || f->type >= VIREO_MCU_BOOL)
    return 0;
  const uint32_t rows = (uint32_t)f->rows, columns = (uint32_t)f->columns, size = bytes_of_type(f->type);
  for (int side = 0; side < 2; ++side) {
    const uint32_t last = mcu_times(rows - 1, (uint32_t)(side == 0 ? f->a_row : f->b_row)) +
                          mcu_times(columns - 1, (uint32_t)(side == 0 ? f->a_step : f->b_step));
    bytes[side] = mcu_times(last + 1, size);
  }
  bytes[2] = mcu_times(mcu_times(rows, columns), f->what >= VIREO_MCU_INT_EQUAL ? 1 : size);
  return bytes[0] <= VIREO_PLAN_MOST && bytes[1] <= VIREO_PLAN_MOST && bytes[2] <= VIREO_PLAN_MOST;
}
static uint32_t units_of_integers(const void* parameters) {
  const vireo_mcu_integers* const f = (const vireo_mcu_integers*)parameters;
  return mcu_parts_of(f->rows, f->columns);
}
static void run_integers(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_integers_run((const vireo_mcu_integers*)parameters, o[0], o[1], o[2], units);
}
const vireo_mcu_kernel vireo_mcu_integers_kernel = {
    needs_of_integers, units_of_integers, run_integers, sizeof(vireo_mcu_integers), 3, 1 << 2, 0, 7, 0};

/* ---- Operands: x, y */

static int needs_of_cast(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_cast* const c = (const vireo_mcu_cast*)parameters;
  if (!mcu_are_between(&c->count, 1, 1, VIREO_PLAN_MOST) || c->from >= VIREO_MCU_TYPES || c->to >= VIREO_MCU_TYPES)
    return 0;
  bytes[0] = mcu_times((uint32_t)c->count, bytes_of_type(c->from));
  bytes[1] = mcu_times((uint32_t)c->count, bytes_of_type(c->to));
  return bytes[0] <= VIREO_PLAN_MOST && bytes[1] <= VIREO_PLAN_MOST;
}
static uint32_t units_of_cast(const void* parameters) {
  return mcu_parts_of(1, ((const vireo_mcu_cast*)parameters)->count);
}
static void run_cast(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_cast_run((const vireo_mcu_cast*)parameters, o[0], o[1], units);
}
const vireo_mcu_kernel vireo_mcu_cast_kernel = {
    needs_of_cast, units_of_cast, run_cast, sizeof(vireo_mcu_cast), 2, 1 << 1, 0, 3, 0};

static int needs_of_greatest(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_greatest* const g = (const vireo_mcu_greatest*)parameters;
  if (!mcu_are_between(&g->outer, 3, 1, VIREO_PLAN_MOST) || g->type >= VIREO_MCU_TYPES || g->type == VIREO_MCU_LONG ||
      g->type == VIREO_MCU_WORD)
    return 0;
  const uint32_t lines = mcu_times((uint32_t)g->outer, (uint32_t)g->inner);
  bytes[0] = mcu_times(mcu_times(lines, (uint32_t)g->axis), bytes_of_type(g->type));
  bytes[1] = mcu_times(lines, 8);
  return bytes[0] <= VIREO_PLAN_MOST && bytes[1] <= VIREO_PLAN_MOST;
}
static uint32_t units_of_greatest(const void* parameters) {
  const vireo_mcu_greatest* const g = (const vireo_mcu_greatest*)parameters;
  return (uint32_t)g->outer * (uint32_t)g->inner;
}
static void run_greatest(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_greatest_run((const vireo_mcu_greatest*)parameters, o[0], o[1], units);
}
const vireo_mcu_kernel vireo_mcu_greatest_kernel = {
    needs_of_greatest, units_of_greatest, run_greatest, sizeof(vireo_mcu_greatest), 2, 1 << 1, 0, 3, 0};
