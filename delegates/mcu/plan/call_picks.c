/* Elements that are chosen by tables or by conditions, as records. */
#include "delegates/mcu/kernels/parts.h"
#include "delegates/mcu/kernels/picks.h"
#include "delegates/mcu/plan/call.h"

/* ---- Operands: x, table, y */

static int needs_of_pick(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_pick* const p = (const vireo_mcu_pick*)parameters;
  const uint32_t size = p->element_bytes, words = p->index_words;
  if (!mcu_are_between(&p->outer, 4, 1, VIREO_PLAN_MOST) || (size != 1 && size != 2 && size != 4 && size != 8) ||
      ((uint32_t)p->row_bytes & (size - 1)) != 0 || words < 1 || words > 2)
    return 0;
  const uint32_t rows = mcu_times((uint32_t)p->outer, (uint32_t)p->row_bytes);
  bytes[0] = mcu_times(rows, (uint32_t)p->axis);
  bytes[1] = mcu_times((uint32_t)p->count, 4 * words);
  bytes[2] = mcu_times(rows, (uint32_t)p->count);
  return bytes[0] <= VIREO_PLAN_MOST && bytes[1] <= VIREO_PLAN_MOST && bytes[2] <= VIREO_PLAN_MOST;
}
static uint32_t units_of_pick(const void* parameters) {
  const vireo_mcu_pick* const p = (const vireo_mcu_pick*)parameters;
  return (uint32_t)p->outer * (uint32_t)p->count;
}
static void run_pick(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_pick_run((const vireo_mcu_pick*)parameters, o[0], o[1], o[2], units);
}
const vireo_mcu_kernel vireo_mcu_pick_kernel = {
    needs_of_pick, units_of_pick, run_pick, sizeof(vireo_mcu_pick), 3, 1 << 2, 0, 2, 0};

/* ---- Operands: condition, a, b, y */

static int needs_of_choose(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_choose* const c = (const vireo_mcu_choose*)parameters;
  const uint32_t size = (uint32_t)c->element_bytes;
  if (!mcu_are_between(&c->rows, 2, 1, VIREO_PLAN_MOST) || !mcu_are_between(c->row, 6, 0, VIREO_PLAN_MOST) ||
      (size != 1 && size != 2 && size != 4 && size != 8))
    return 0;
  for (int k = 0; k < 3; ++k) {
    const uint32_t last = mcu_times((uint32_t)c->rows - 1, (uint32_t)c->row[k]) +
                          mcu_times((uint32_t)c->columns - 1, (uint32_t)c->step[k]);
    bytes[k] = mcu_times(last + 1, k == 0 ? 1 : size);
    if (bytes[k] > VIREO_PLAN_MOST) return 0;
  }
  bytes[3] = mcu_times(mcu_times((uint32_t)c->rows, (uint32_t)c->columns), size);
  return bytes[3] <= VIREO_PLAN_MOST;
}
static uint32_t units_of_choose(const void* parameters) {
  const vireo_mcu_choose* const c = (const vireo_mcu_choose*)parameters;
  return mcu_parts_of(c->rows, c->columns);
}
static void run_choose(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_choose_run((const vireo_mcu_choose*)parameters, o[0], o[1], o[2], o[3], units);
}
const vireo_mcu_kernel vireo_mcu_choose_kernel = {
    needs_of_choose, units_of_choose, run_choose, sizeof(vireo_mcu_choose), 4, 1 << 3, 0, 0, 0};
