/* Averages over all positions, some rows a call, as records. */
#include "delegates/mcu/kernels/pool_rows.h"
#include "delegates/mcu/plan/call.h"

/* Elements of x, or 0: out of bounds. */
static uint32_t elements_of(const vireo_mcu_rows* r) {
  const uint32_t most = 1 << 14;
  if (!mcu_are_between(&r->planes, 3, 1, most) || !mcu_are_between(&r->first, 1, 0, most) ||
      !mcu_are_between(&r->all, 1, 1, most) || r->first + r->rows > r->all)
    return 0;
  const uint32_t elements = mcu_times((uint32_t)r->planes, (uint32_t)(r->rows * r->columns));
  /* Sums of so many codes have 32 bits. */
  return elements <= VIREO_PLAN_MOST && r->all * r->columns <= 1 << 22 ? elements : 0;
}
static uint32_t units_of_rows(const void* parameters) { return (uint32_t)((const vireo_mcu_rows*)parameters)->planes; }

/* Operands: x, multipliers, y, sums. */
static int needs_of_rows(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_pool_rows* const p = (const vireo_mcu_pool_rows*)parameters;
  bytes[0] = elements_of(&p->rows);
  if (bytes[0] == 0 || !mcu_are_codes(&p->codes)) return 0;
  bytes[1] = p->one_multiplier ? 4 : (uint32_t)(p->rows.all * p->rows.columns + 1) * 4;
  bytes[2] = (uint32_t)p->rows.planes;
  bytes[3] = (uint32_t)p->rows.planes * 4;
  return 1;
}
static void run_rows(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_average_rows((const vireo_mcu_pool_rows*)parameters, o[0], o[1], o[3], o[2], units);
}
const vireo_mcu_kernel vireo_mcu_average_rows_kernel = {
    needs_of_rows,   units_of_rows, run_rows, sizeof(vireo_mcu_pool_rows), 4, 1 << 2 | 1 << 3, 0,
    1 << 1 | 1 << 3, 1 << 3};

/* Operands: x, y. */
static int needs_of_rows_reals(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_rows* const p = (const vireo_mcu_rows*)parameters;
  bytes[0] = mcu_times(elements_of(p), 4);
  bytes[1] = (uint32_t)p->planes * 4;
  return bytes[0] != 0 && bytes[0] <= VIREO_PLAN_MOST;
}
static void run_rows_reals(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_average_rows_reals((const vireo_mcu_rows*)parameters, o[0], o[1], units);
}
const vireo_mcu_kernel vireo_mcu_average_rows_reals_kernel = {
    needs_of_rows_reals, units_of_rows, run_rows_reals, sizeof(vireo_mcu_rows), 2, 1 << 1, 0, 3, 0};
