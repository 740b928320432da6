/* Elements that change their places as records. */
#include <stddef.h>

#include "delegates/mcu/kernels/moves.h"
#include "delegates/mcu/plan/call.h"

/* ---- Operands: x, y */

static int needs_of_move(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_move* const m = (const vireo_mcu_move*)parameters;
  const uint32_t most = VIREO_PLAN_MOST / 4, size = (uint32_t)m->element_bytes;
  if (!mcu_are_between(m->dims, VIREO_MCU_MOVE_AXES, 1, most) || !mcu_are_between(&m->first, 1, 0, most) ||
      (size != 1 && size != 2 && size != 4))
    return 0;
  /* How far elements lie from the first one, to either side. */
  uint32_t up = 0, down = 0, elements = 1;
  for (int a = 0; a < VIREO_MCU_MOVE_AXES; ++a) {
    const int32_t step = m->step[a];
    const uint32_t length = step < 0 ? 0u - (uint32_t)step : (uint32_t)step;
    const uint32_t far = mcu_times((uint32_t)m->dims[a] - 1, length);
    if (far > most || length > most) return 0;
    if (step < 0) {
      down += far;
    } else {
      up += far;
    }
    elements = mcu_times(elements, (uint32_t)m->dims[a]);
  }
  if (down > (uint32_t)m->first || up > most || (uint32_t)m->first + up >= most || elements > most) return 0;
  bytes[0] = ((uint32_t)m->first + up + 1) * size;
  bytes[1] = elements * size;
  return 1;
}
static uint32_t units_of_move(const void* parameters) {
  return vireo_mcu_move_units((const vireo_mcu_move*)parameters);
}
static void run_move(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_move_run((const vireo_mcu_move*)parameters, o[0], o[1], units);
}
const vireo_mcu_kernel vireo_mcu_move_kernel = {
    needs_of_move, units_of_move, run_move, sizeof(vireo_mcu_move), 2, 1 << 1, 0, 3, 0};

/* ---- Operands: up to six of x, y */

static int needs_of_join(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_join* const j = (const vireo_mcu_join*)parameters;
  if (!mcu_are_between(&j->count, 1, 1, VIREO_MCU_JOINED) || !mcu_are_between(&j->rows, 1, 1, VIREO_PLAN_MOST) ||
      !mcu_are_between(j->bytes, (uint32_t)j->count, 1, VIREO_PLAN_MOST))
    return 0;
  uint32_t row = 0;
  for (int i = 0; i < VIREO_MCU_JOINED; ++i) {
    bytes[i] = i < j->count ? mcu_times((uint32_t)j->rows, (uint32_t)j->bytes[i]) : 0;
    if (bytes[i] > VIREO_PLAN_MOST) return 0;
    row += i < j->count ? (uint32_t)j->bytes[i] : 0;
  }
  bytes[VIREO_MCU_JOINED] = mcu_times((uint32_t)j->rows, row);
  return bytes[VIREO_MCU_JOINED] <= VIREO_PLAN_MOST;
}
static uint32_t units_of_join(const void* parameters) { return (uint32_t)((const vireo_mcu_join*)parameters)->rows; }
static void run_join(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  const vireo_mcu_join* const j = (const vireo_mcu_join*)parameters;
  for (int32_t i = 0; i < j->count; ++i) {
    if (o[i] == NULL) return; /* only those behind the last may be absent */
  }
  vireo_mcu_join_run(j, o, o[VIREO_MCU_JOINED], units);
}
const vireo_mcu_kernel vireo_mcu_join_kernel = {
    needs_of_join, units_of_join, run_join, sizeof(vireo_mcu_join), 7, 1 << 6, 0x3E, 0, 0};
