/* More float32 operators as records. */
#include "delegates/mcu/kernels/parts.h"
#include "delegates/mcu/kernels/reals_more.h"
#include "delegates/mcu/plan/call.h"

/* Bytes of a side of a pair. */
static uint32_t bytes_of(const vireo_mcu_binary_reals* f, int32_t row, int32_t step) {
  return mcu_times(
      mcu_times((uint32_t)f->rows - 1, (uint32_t)row) + mcu_times((uint32_t)f->columns - 1, (uint32_t)step) + 1, 4);
}

/* ---- Operands: a, b, y */

static int needs_of_pairs(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_binary_reals* const f = (const vireo_mcu_binary_reals*)parameters;
  if (!mcu_are_between(&f->rows, 2, 1, VIREO_PLAN_MOST) || !mcu_are_between(&f->a_row, 4, 0, VIREO_PLAN_MOST) ||
      !mcu_are_between(&f->what, 1, 0, VIREO_MCU_PAIRS - 1))
    return 0;
  bytes[0] = bytes_of(f, f->a_row, f->a_step);
  bytes[1] = bytes_of(f, f->b_row, f->b_step);
  bytes[2] = mcu_times(mcu_times((uint32_t)f->rows, (uint32_t)f->columns), f->what >= VIREO_MCU_EQUAL_REALS ? 1 : 4);
  return bytes[0] <= VIREO_PLAN_MOST && bytes[1] <= VIREO_PLAN_MOST && bytes[2] <= VIREO_PLAN_MOST;
}
static uint32_t units_of_pairs(const void* parameters) {
  const vireo_mcu_binary_reals* const f = (const vireo_mcu_binary_reals*)parameters;
  return mcu_parts_of(f->rows, f->columns);
}
static void run_pairs(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_pairs_run((const vireo_mcu_binary_reals*)parameters, o[0], o[1], o[2], units);
}
const vireo_mcu_kernel vireo_mcu_pairs_kernel = {
    needs_of_pairs, units_of_pairs, run_pairs, sizeof(vireo_mcu_binary_reals), 3, 1 << 2, 0, 7, 0};

/* ---- Operands: x, y */

static int needs_of_function(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_more_function* const f = (const vireo_mcu_more_function*)parameters;
  bytes[0] = bytes[1] = mcu_times((uint32_t)f->count, 4);
  return mcu_are_between(&f->count, 1, 1, VIREO_PLAN_MOST / 4) &&
         mcu_are_between(&f->what, 1, 0, VIREO_MCU_MORE_FUNCTIONS - 1);
}
static uint32_t units_of_function(const void* parameters) {
  return mcu_parts_of(1, ((const vireo_mcu_more_function*)parameters)->count);
}
static void run_function(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_more_function_run((const vireo_mcu_more_function*)parameters, o[0], o[1], units);
}
const vireo_mcu_kernel vireo_mcu_more_function_kernel = {
    needs_of_function, units_of_function, run_function, sizeof(vireo_mcu_more_function), 2, 1 << 1, 0, 3, 0};

static int needs_of_reduce(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_reduce_reals* const r = (const vireo_mcu_reduce_reals*)parameters;
  const uint32_t most = VIREO_PLAN_MOST / 4;
  if (!mcu_are_between(r->kept, VIREO_MCU_REDUCED_AXES, 1, most) ||
      !mcu_are_between(r->kept_step, VIREO_MCU_REDUCED_AXES, 0, most) ||
      !mcu_are_between(r->over, VIREO_MCU_REDUCED_AXES, 1, most) ||
      !mcu_are_between(r->over_step, VIREO_MCU_REDUCED_AXES, 0, most) ||
      !mcu_are_between(&r->what, 1, 0, VIREO_MCU_REDUCTIONS - 1))
    return 0;
  uint32_t last = 0, results = 1, each = 1;
  for (int a = 0; a < VIREO_MCU_REDUCED_AXES; ++a) {
    const uint32_t kept = mcu_times((uint32_t)r->kept[a] - 1, (uint32_t)r->kept_step[a]);
    const uint32_t over = mcu_times((uint32_t)r->over[a] - 1, (uint32_t)r->over_step[a]);
    if (kept > most || over > most) return 0;
    last += kept + over;
    results = mcu_times(results, (uint32_t)r->kept[a]);
    each = mcu_times(each, (uint32_t)r->over[a]);
  }
  bytes[0] = mcu_times(last + 1, 4);
  bytes[1] = mcu_times(results, 4);
  return bytes[0] <= VIREO_PLAN_MOST && bytes[1] <= VIREO_PLAN_MOST && each <= most;
}
static uint32_t units_of_reduce(const void* parameters) {
  const vireo_mcu_reduce_reals* const r = (const vireo_mcu_reduce_reals*)parameters;
  return (uint32_t)(r->kept[0] * r->kept[1] * r->kept[2]);
}
static void run_reduce(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_reduce_reals_run((const vireo_mcu_reduce_reals*)parameters, o[0], o[1], units);
}
const vireo_mcu_kernel vireo_mcu_reduce_reals_kernel = {
    needs_of_reduce, units_of_reduce, run_reduce, sizeof(vireo_mcu_reduce_reals), 2, 1 << 1, 0, 3, 0};

/* ---- Operands: x, scale, bias, y */

static int needs_of_norm(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_norm_reals* const n = (const vireo_mcu_norm_reals*)parameters;
  if (!mcu_are_between(&n->lines, 5, 1, VIREO_PLAN_MOST / 4)) return 0;
  const int32_t spans = mcu_divide(n->count, n->span);
  if (spans * n->span != n->count) return 0;
  bytes[0] = bytes[3] = mcu_times(mcu_times((uint32_t)n->lines, (uint32_t)n->count), 4);
  bytes[1] = bytes[2] = mcu_times(mcu_times((uint32_t)n->period - 1, (uint32_t)n->of_line) + (uint32_t)spans, 4);
  return bytes[0] <= VIREO_PLAN_MOST && bytes[1] <= VIREO_PLAN_MOST;
}
static uint32_t units_of_norm(const void* parameters) {
  return (uint32_t)((const vireo_mcu_norm_reals*)parameters)->lines;
}
static void run_norm(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_norm_reals_run((const vireo_mcu_norm_reals*)parameters, o[0], o[1], o[2], o[3], units);
}
const vireo_mcu_kernel vireo_mcu_norm_reals_kernel = {
    needs_of_norm, units_of_norm, run_norm, sizeof(vireo_mcu_norm_reals), 4, 1 << 3, 1 << 2, 15, 0};

/* ---- Operands: x, first, w, y */

static int needs_of_resample(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_resample* const r = (const vireo_mcu_resample*)parameters;
  if (!mcu_are_between(&r->outer, 5, 1, VIREO_PLAN_MOST / 4)) return 0;
  const uint32_t rows = mcu_times((uint32_t)r->outer, (uint32_t)r->inner);
  bytes[0] = mcu_times(mcu_times(rows, (uint32_t)r->axis), 4);
  bytes[1] = (uint32_t)r->count * 4;
  bytes[2] = mcu_times(mcu_times((uint32_t)r->count, (uint32_t)r->taps), 4);
  bytes[3] = mcu_times(mcu_times(rows, (uint32_t)r->count), 4);
  return bytes[0] <= VIREO_PLAN_MOST && bytes[2] <= VIREO_PLAN_MOST && bytes[3] <= VIREO_PLAN_MOST;
}
static uint32_t units_of_resample(const void* parameters) {
  const vireo_mcu_resample* const r = (const vireo_mcu_resample*)parameters;
  return (uint32_t)r->outer * (uint32_t)r->count;
}
static void run_resample(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_resample_run((const vireo_mcu_resample*)parameters, o[0], o[1], o[2], o[3], units);
}
const vireo_mcu_kernel vireo_mcu_resample_kernel = {
    needs_of_resample, units_of_resample, run_resample, sizeof(vireo_mcu_resample), 4, 1 << 3, 0, 15, 0};
