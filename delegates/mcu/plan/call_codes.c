/* What works element by element, and softmax, as records. */
#include "delegates/mcu/kernels/codes.h"
#include "delegates/mcu/plan/call.h"
#include "delegates/mcu/plan/parameters.h"

/* Elements of a unit; of two operands fewer, which take hundreds of instructions each where there is no FPU. */
enum { kUnit = 64, kBinaryUnit = 16 };
static uint32_t units_of(int32_t count) { return ((uint32_t)count + kUnit - 1) / kUnit; }
static uint32_t binary_units_of(int32_t columns) { return ((uint32_t)columns + kBinaryUnit - 1) / kBinaryUnit; }
/* Of `count` elements, those of some units: where they begin, and how many. */
static int32_t begin_of(vireo_mcu_units units) { return (int32_t)units.from * kUnit; }
static int32_t count_of(vireo_mcu_units units, int32_t count) {
  return (units.to < units_of(count) ? (int32_t)units.to * kUnit : count) - begin_of(units);
}

static int is_count(int32_t count) { return count >= 1 && count <= VIREO_PLAN_MOST / 4; }

/* ---- Operands a, b, y */

/* Bytes of an operand with these steps; 0: out of bounds. */
static uint32_t bytes_of(const vireo_mcu_binary* f, int32_t row, int32_t step) {
  if (row < 0 || step < 0) return 0;
  const uint32_t rows = mcu_times((uint32_t)f->rows - 1, (uint32_t)row);
  const uint32_t columns = mcu_times((uint32_t)f->columns - 1, (uint32_t)step);
  return rows > VIREO_PLAN_MOST || columns > VIREO_PLAN_MOST ? 0 : rows + columns + 1;
}
static int needs_of_binary(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_binary* const f = (const vireo_mcu_binary*)parameters;
  if (!mcu_are_codes(&f->codes) || !is_count(f->rows) || !is_count(f->columns)) return 0;
  bytes[0] = bytes_of(f, f->a_row, f->a_step);
  bytes[1] = bytes_of(f, f->b_row, f->b_step);
  bytes[2] = mcu_times((uint32_t)f->rows, (uint32_t)f->columns);
  return bytes[0] != 0 && bytes[1] != 0 && bytes[2] <= VIREO_PLAN_MOST;
}
/* Units go along the rows; a row's last one may be smaller. */
static uint32_t units_of_binary(const void* parameters) {
  const vireo_mcu_binary* const f = (const vireo_mcu_binary*)parameters;
  return (uint32_t)f->rows * binary_units_of(f->columns);
}
MCU_INLINE void run_binary(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units,
                           void (*kernel)(const vireo_mcu_binary*, const uint8_t*, const uint8_t*, uint8_t*)) {
  vireo_mcu_binary f = *(const vireo_mcu_binary*)parameters;
  if (units.to == VIREO_MCU_ALL_UNITS) {
    kernel(&f, o[0], o[1], o[2]);
    return;
  }
  const int32_t of_row = (int32_t)binary_units_of(f.columns), columns = f.columns;
  f.rows = 1;
  for (int32_t u = (int32_t)units.from; u < (int32_t)units.to; ++u) {
    const int32_t row = mcu_divide(u, of_row), from = (u - row * of_row) * kBinaryUnit;
    f.columns = columns - from < kBinaryUnit ? columns - from : kBinaryUnit;
    kernel(&f, (const uint8_t*)o[0] + row * f.a_row + from * f.a_step,
           (const uint8_t*)o[1] + row * f.b_row + from * f.b_step, (uint8_t*)o[2] + row * columns + from);
  }
}
static void run_add(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  run_binary(parameters, o, units, vireo_mcu_add);
}
static void run_mul(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  run_binary(parameters, o, units, vireo_mcu_mul);
}
const vireo_mcu_kernel vireo_mcu_add_kernel = {
    needs_of_binary, units_of_binary, run_add, sizeof(vireo_mcu_binary), 3, 1 << 2, 0, 0, 0};
const vireo_mcu_kernel vireo_mcu_mul_kernel = {
    needs_of_binary, units_of_binary, run_mul, sizeof(vireo_mcu_binary), 3, 1 << 2, 0, 0, 0};

/* ---- Operands x, table, y */

static int needs_of_table(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_plan_table* const t = (const vireo_plan_table*)parameters;
  bytes[0] = bytes[2] = (uint32_t)t->count;
  bytes[1] = 256;
  return is_count(t->count);
}
static uint32_t units_of_table(const void* parameters) {
  return units_of(((const vireo_plan_table*)parameters)->count);
}
static void run_table(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  const int32_t at = begin_of(units), count = count_of(units, ((const vireo_plan_table*)parameters)->count);
  vireo_mcu_table(o[1], (const uint8_t*)o[0] + at, count, (uint8_t*)o[2] + at);
}
const vireo_mcu_kernel vireo_mcu_table_kernel = {
    needs_of_table, units_of_table, run_table, sizeof(vireo_plan_table), 3, 1 << 2, 0, 0, 0};

static int needs_of_softmax(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_softmax* const s = (const vireo_mcu_softmax*)parameters;
  if (!mcu_are_codes(&s->codes) || !is_count(s->outer) || !is_count(s->inner) || s->axis < 1 || s->axis > 255) return 0;
  bytes[0] = bytes[2] = mcu_times(mcu_times((uint32_t)s->outer, (uint32_t)s->axis), (uint32_t)s->inner);
  bytes[1] = 256 * 4;
  return bytes[0] <= VIREO_PLAN_MOST;
}
/* A unit is one of the outermost. */
static uint32_t units_of_softmax(const void* parameters) {
  return (uint32_t)((const vireo_mcu_softmax*)parameters)->outer;
}
static void run_softmax(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_softmax s = *(const vireo_mcu_softmax*)parameters;
  const int32_t at = (int32_t)units.from * s.axis * s.inner;
  s.outer = (units.to < (uint32_t)s.outer ? (int32_t)units.to : s.outer) - (int32_t)units.from;
  vireo_mcu_softmax_run(&s, (const uint8_t*)o[0] + at, o[1], (uint8_t*)o[2] + at);
}
const vireo_mcu_kernel vireo_mcu_softmax_kernel = {
    needs_of_softmax, units_of_softmax, run_softmax, sizeof(vireo_mcu_softmax), 3, 1 << 2, 0, 1 << 1, 0};

/* ---- Operands x, y */

static int needs_of_quantize(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_plan_quantize* const q = (const vireo_plan_quantize*)parameters;
  bytes[0] = (uint32_t)q->count * 4;
  bytes[1] = (uint32_t)q->count;
  return is_count(q->count) && mcu_are_codes(&q->codes) && vireo_mcu_multipliers_serve(&q->scale, 1);
}
static uint32_t units_of_quantize(const void* parameters) {
  return units_of(((const vireo_plan_quantize*)parameters)->count);
}
static void run_quantize(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  const vireo_plan_quantize* const q = (const vireo_plan_quantize*)parameters;
  const int32_t at = begin_of(units);
  vireo_mcu_quantize((const float*)o[0] + at, count_of(units, q->count), q->scale, &q->codes, (uint8_t*)o[1] + at);
}
const vireo_mcu_kernel vireo_mcu_quantize_kernel = {
    needs_of_quantize, units_of_quantize, run_quantize, sizeof(vireo_plan_quantize), 2, 1 << 1, 0, 1 << 0, 0};

static int needs_of_dequantize(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_plan_dequantize* const q = (const vireo_plan_dequantize*)parameters;
  bytes[0] = (uint32_t)q->count;
  bytes[1] = (uint32_t)q->count * 4;
  return is_count(q->count) && vireo_mcu_multipliers_serve(&q->scale, 1);
}
static uint32_t units_of_dequantize(const void* parameters) {
  return units_of(((const vireo_plan_dequantize*)parameters)->count);
}
static void run_dequantize(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  const vireo_plan_dequantize* const q = (const vireo_plan_dequantize*)parameters;
  const int32_t at = begin_of(units), count = count_of(units, q->count);
  vireo_mcu_dequantize((const uint8_t*)o[0] + at, count, q->flip, q->zero, q->scale, (float*)o[1] + at);
}
const vireo_mcu_kernel vireo_mcu_dequantize_kernel = {
    needs_of_dequantize, units_of_dequantize, run_dequantize, sizeof(vireo_plan_dequantize), 2, 1 << 1, 0, 1 << 1, 0};
