/* Float32 operators but products as records. */
#include "delegates/mcu/kernels/reals.h"
#include "delegates/mcu/plan/call.h"

/* Elements of a unit of what works element by element. */
enum { kUnit = 64 };
static uint32_t units_of(int32_t count) { return ((uint32_t)count + kUnit - 1) / kUnit; }
static int is_count(int32_t count) { return mcu_are_between(&count, 1, 1, VIREO_PLAN_MOST / 4); }

/* ---- Pools. Operands: x, y */

static int needs_of_pool(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_pool_reals* const p = (const vireo_mcu_pool_reals*)parameters;
  const uint32_t most = 1 << 14;
  /* From `in` to `dilation`, then `pad` and `pad_end`. */
  if (!is_count(p->planes) || !mcu_are_between(p->in, 10, 1, most) || !mcu_are_between(p->pad, 4, 0, most)) return 0;
  for (int i = 0; i < 2; ++i) {
    if (mcu_times((uint32_t)p->kernel[i], (uint32_t)p->dilation[i]) > most ||
        mcu_times((uint32_t)p->out[i], (uint32_t)p->stride[i]) > most)
      return 0;
  }
  bytes[0] = mcu_times(mcu_times((uint32_t)p->planes, (uint32_t)(p->in[0] * p->in[1])), 4);
  bytes[1] = mcu_times(mcu_times((uint32_t)p->planes, (uint32_t)(p->out[0] * p->out[1])), 4);
  return bytes[0] <= VIREO_PLAN_MOST && bytes[1] <= VIREO_PLAN_MOST;
}
static uint32_t units_of_pool(const void* parameters) {
  return (uint32_t)((const vireo_mcu_pool_reals*)parameters)->planes;
}
static void run_average(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_average_reals((const vireo_mcu_pool_reals*)parameters, o[0], o[1], units);
}
const vireo_mcu_kernel vireo_mcu_average_reals_kernel = {
    needs_of_pool, units_of_pool, run_average, sizeof(vireo_mcu_pool_reals), 2, 1 << 1, 0, 3, 0};
static void run_max(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_max_reals((const vireo_mcu_pool_reals*)parameters, o[0], o[1], units);
}
const vireo_mcu_kernel vireo_mcu_max_reals_kernel = {
    needs_of_pool, units_of_pool, run_max, sizeof(vireo_mcu_pool_reals), 2, 1 << 1, 0, 3, 0};

/* ---- Element by element */

/* Bytes of an operand with these steps; 0: out of bounds. */
static uint32_t bytes_of(const vireo_mcu_binary_reals* f, int32_t row, int32_t step) {
  if (row < 0 || step < 0) return 0;
  const uint32_t rows = mcu_times((uint32_t)f->rows - 1, (uint32_t)row);
  const uint32_t columns = mcu_times((uint32_t)f->columns - 1, (uint32_t)step);
  const uint32_t bytes = mcu_times(mcu_times(rows + columns + 1, 4), 1);
  return rows > VIREO_PLAN_MOST || columns > VIREO_PLAN_MOST || bytes > VIREO_PLAN_MOST ? 0 : bytes;
}
static int needs_of_binary(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_binary_reals* const f = (const vireo_mcu_binary_reals*)parameters;
  if (!is_count(f->rows) || !is_count(f->columns)) return 0;
  bytes[0] = bytes_of(f, f->a_row, f->a_step);
  bytes[1] = bytes_of(f, f->b_row, f->b_step);
  bytes[2] = mcu_times(mcu_times((uint32_t)f->rows, (uint32_t)f->columns), 4);
  return bytes[0] != 0 && bytes[1] != 0 && bytes[2] <= VIREO_PLAN_MOST;
}
/* Units go along the rows; a row's last one may be smaller. */
static uint32_t units_of_binary(const void* parameters) {
  const vireo_mcu_binary_reals* const f = (const vireo_mcu_binary_reals*)parameters;
  return (uint32_t)f->rows * units_of(f->columns);
}
static void run_binary(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_binary_reals f = *(const vireo_mcu_binary_reals*)parameters;
  const float *const a = o[0], *const b = o[1];
  float* const y = o[2];
  if (units.to == VIREO_MCU_ALL_UNITS) {
    vireo_mcu_binary_reals_run(&f, a, b, y);
    return;
  }
  const int32_t of_row = (int32_t)units_of(f.columns), columns = f.columns;
  f.rows = 1;
  for (int32_t u = (int32_t)units.from; u < (int32_t)units.to; ++u) {
    const int32_t row = mcu_divide(u, of_row), from = (u - row * of_row) * kUnit;
    f.columns = columns - from < kUnit ? columns - from : kUnit;
    vireo_mcu_binary_reals_run(&f, a + row * f.a_row + from * f.a_step, b + row * f.b_row + from * f.b_step,
                               y + row * columns + from);
  }
}
const vireo_mcu_kernel vireo_mcu_binary_reals_kernel = {
    needs_of_binary, units_of_binary, run_binary, sizeof(vireo_mcu_binary_reals), 3, 1 << 2, 0, 7, 0};

/* Operands: x, y. */
static int needs_of_function(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_function* const f = (const vireo_mcu_function*)parameters;
  bytes[0] = bytes[1] = (uint32_t)f->count * 4;
  return is_count(f->count) && mcu_are_between(&f->what, 1, 0, VIREO_MCU_FUNCTIONS - 1);
}
static uint32_t units_of_function(const void* parameters) {
  return units_of(((const vireo_mcu_function*)parameters)->count);
}
static void run_function(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  const vireo_mcu_function* const f = (const vireo_mcu_function*)parameters;
  const int32_t at = (int32_t)units.from * kUnit,
                end = units.to < units_of(f->count) ? (int32_t)units.to * kUnit : f->count;
  vireo_mcu_function_run(f, (const float*)o[0] + at, end - at, (float*)o[1] + at);
}
const vireo_mcu_kernel vireo_mcu_function_kernel = {
    needs_of_function, units_of_function, run_function, sizeof(vireo_mcu_function), 2, 1 << 1, 0, 3, 0};

static int needs_of_softmax(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_softmax_reals* const s = (const vireo_mcu_softmax_reals*)parameters;
  if (!is_count(s->outer) || !is_count(s->axis) || !is_count(s->inner)) return 0;
  bytes[0] = bytes[1] = mcu_times(mcu_times(mcu_times((uint32_t)s->outer, (uint32_t)s->axis), (uint32_t)s->inner), 4);
  return bytes[0] <= VIREO_PLAN_MOST;
}
/* A unit is one of the outermost. */
static uint32_t units_of_softmax(const void* parameters) {
  return (uint32_t)((const vireo_mcu_softmax_reals*)parameters)->outer;
}
static void run_softmax(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_softmax_reals s = *(const vireo_mcu_softmax_reals*)parameters;
  const int32_t at = (int32_t)units.from * s.axis * s.inner;
  s.outer = (units.to < (uint32_t)s.outer ? (int32_t)units.to : s.outer) - (int32_t)units.from;
  vireo_mcu_softmax_reals_run(&s, (const float*)o[0] + at, (float*)o[1] + at);
}
const vireo_mcu_kernel vireo_mcu_softmax_reals_kernel = {
    needs_of_softmax, units_of_softmax, run_softmax, sizeof(vireo_mcu_softmax_reals), 2, 1 << 1, 0, 3, 0};
