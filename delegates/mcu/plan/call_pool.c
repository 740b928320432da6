/* Pools as records. Operands of an average: x, multipliers, y; of a maximum: x, y. */
#include <stddef.h>

#include "delegates/mcu/kernels/pool.h"
#include "delegates/mcu/plan/call.h"

static int pool_needs(const vireo_mcu_pool* p, uint32_t* x, uint32_t* y) {
  const uint32_t most = 1 << 14;
  /* From `batch` to `dilation`, then `pad` and `pad_end`. */
  if (!mcu_are_between(&p->batch, 12, 1, most) || !mcu_are_between(p->pad, 4, 0, most)) return 0;
  for (int i = 0; i < 2; ++i) {
    if (mcu_times((uint32_t)p->kernel[i], (uint32_t)p->dilation[i]) > most) return 0;
  }
  const uint32_t planes = mcu_times((uint32_t)p->batch, (uint32_t)p->channels);
  *x = mcu_times(planes, (uint32_t)(p->in[0] * p->in[1]));
  *y = mcu_times(planes, (uint32_t)(p->out[0] * p->out[1]));
  /* Sums of so many codes have 32 bits. */
  return *x <= VIREO_PLAN_MOST && *y <= VIREO_PLAN_MOST && p->kernel[0] * p->kernel[1] <= 1 << 22;
}

static uint32_t units_of_pool(const void* parameters) {
  return vireo_mcu_pool_units((const vireo_mcu_pool*)parameters);
}

static int needs_of_average(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_pool* const p = (const vireo_mcu_pool*)parameters;
  bytes[1] = 4;
  if (!mcu_are_codes(&p->codes) || !pool_needs(p, &bytes[0], &bytes[2])) return 0;
  if (!p->one_multiplier) bytes[1] = (uint32_t)(p->kernel[0] * p->kernel[1] + 1) * 4;
  return 1;
}
static void run_average(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_pool_run_units((const vireo_mcu_pool*)parameters, o[0], o[1], o[2], units);
}
const vireo_mcu_kernel vireo_mcu_average_kernel = {
    needs_of_average, units_of_pool, run_average, sizeof(vireo_mcu_pool), 3, 1 << 2, 0, 1 << 1, 0};

static int needs_of_max(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  return pool_needs((const vireo_mcu_pool*)parameters, &bytes[0], &bytes[1]);
}
static void run_max(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_pool_run_units((const vireo_mcu_pool*)parameters, o[0], NULL, o[1], units);
}
const vireo_mcu_kernel vireo_mcu_max_kernel = {
    needs_of_max, units_of_pool, run_max, sizeof(vireo_mcu_pool), 2, 1 << 1, 0, 0, 0};
