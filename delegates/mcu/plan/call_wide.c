/* Operators on codes of 16 bits as records. */
#include "delegates/mcu/kernels/wide.h"
#include "delegates/mcu/plan/call.h"

/* Elements of a unit of what works element by element. */
enum { kUnit = 64 };
static uint32_t units_of(int32_t count) { return ((uint32_t)count + kUnit - 1) / kUnit; }
static int is_count(int32_t count) { return mcu_are_between(&count, 1, 1, VIREO_PLAN_MOST / 4); }

static int is_type(uint8_t type) { return type <= VIREO_MCU_U16; }
static uint32_t bytes_of(uint32_t elements, uint8_t type) { return mcu_times(elements, type >= VIREO_MCU_I16 ? 2 : 1); }
/* Within 16 bits, signed or not. */
static int are_codes(const vireo_mcu_codes* c) {
  return c->low >= -32768 && c->low <= c->high && c->high <= 65535 && c->zero >= -65536 && c->zero <= 65536;
}
static int is_zero(int32_t zero) { return zero >= -65536 && zero <= 65536; }

/* ---- Average. Operands: x, multipliers, y */

static int needs_of_average(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_pool_wide* const p = (const vireo_mcu_pool_wide*)parameters;
  const uint32_t most = 1 << 14;
  /* From `in` to `dilation`, then `pad` and `pad_end`. */
  if (!is_count(p->planes) || !mcu_are_between(p->in, 10, 1, most) || !mcu_are_between(p->pad, 4, 0, most) ||
      !are_codes(&p->codes) || !is_zero(p->x_zero) || !is_type(p->x_type) || !is_type(p->y_type))
    return 0;
  for (int i = 0; i < 2; ++i) {
    if (mcu_times((uint32_t)p->kernel[i], (uint32_t)p->dilation[i]) > most ||
        mcu_times((uint32_t)p->out[i], (uint32_t)p->stride[i]) > most)
      return 0;
  }
  bytes[0] = bytes_of(mcu_times((uint32_t)p->planes, (uint32_t)(p->in[0] * p->in[1])), p->x_type);
  bytes[1] = p->one_multiplier ? 4 : (uint32_t)(p->kernel[0] * p->kernel[1] + 1) * 4;
  bytes[2] = bytes_of(mcu_times((uint32_t)p->planes, (uint32_t)(p->out[0] * p->out[1])), p->y_type);
  return bytes[0] <= VIREO_PLAN_MOST && bytes[2] <= VIREO_PLAN_MOST;
}
static uint32_t units_of_average(const void* parameters) {
  return (uint32_t)((const vireo_mcu_pool_wide*)parameters)->planes;
}
static void run_average(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_average_wide((const vireo_mcu_pool_wide*)parameters, o[0], o[1], o[2], units);
}
const vireo_mcu_kernel vireo_mcu_average_wide_kernel = {
    needs_of_average, units_of_average, run_average, sizeof(vireo_mcu_pool_wide), 3, 1 << 2, 0, 7, 0};

/* ---- Sums and products of two. Operands: a, b, y */

/* Elements of an operand with these steps; 0: out of bounds. */
static uint32_t reach_of(const vireo_mcu_binary_wide* f, int32_t row, int32_t step) {
  if (row < 0 || step < 0) return 0;
  const uint32_t rows = mcu_times((uint32_t)f->rows - 1, (uint32_t)row);
  const uint32_t columns = mcu_times((uint32_t)f->columns - 1, (uint32_t)step);
  return rows > VIREO_PLAN_MOST || columns > VIREO_PLAN_MOST ? 0 : rows + columns + 1;
}
static int needs_of_binary(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_binary_wide* const f = (const vireo_mcu_binary_wide*)parameters;
  if (!is_count(f->rows) || !is_count(f->columns) || !are_codes(&f->codes) || !is_zero(f->a_zero) ||
      !is_zero(f->b_zero) || !is_type(f->a_type) || !is_type(f->b_type) || !is_type(f->y_type) ||
      (f->times && !vireo_mcu_multipliers_serve(&f->a_multiplier, 1)))
    return 0;
  bytes[0] = bytes_of(reach_of(f, f->a_row, f->a_step), f->a_type);
  bytes[1] = bytes_of(reach_of(f, f->b_row, f->b_step), f->b_type);
  bytes[2] = bytes_of(mcu_times((uint32_t)f->rows, (uint32_t)f->columns), f->y_type);
  return bytes[0] != 0 && bytes[1] != 0 && bytes[0] <= VIREO_PLAN_MOST && bytes[1] <= VIREO_PLAN_MOST &&
         bytes[2] <= VIREO_PLAN_MOST;
}
/* A unit is a row. */
static uint32_t units_of_binary(const void* parameters) {
  return (uint32_t)((const vireo_mcu_binary_wide*)parameters)->rows;
}
static void run_binary(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  vireo_mcu_binary_wide_run((const vireo_mcu_binary_wide*)parameters, o[0], o[1], o[2], units);
}
const vireo_mcu_kernel vireo_mcu_binary_wide_kernel = {
    needs_of_binary, units_of_binary, run_binary, sizeof(vireo_mcu_binary_wide), 3, 1 << 2, 0, 7, 0};

/* ---- Operands: x, y */

static int quantize_needs(const vireo_mcu_quantize_wide* q) {
  return is_count(q->count) && are_codes(&q->codes) && is_type(q->type) && vireo_mcu_multipliers_serve(&q->scale, 1);
}
static int needs_of_quantize(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_quantize_wide* const q = (const vireo_mcu_quantize_wide*)parameters;
  bytes[0] = (uint32_t)q->count * 4;
  bytes[1] = bytes_of((uint32_t)q->count, q->type);
  return quantize_needs(q);
}
static int needs_of_dequantize(const void* parameters, uint32_t bytes[VIREO_PLAN_OPERANDS]) {
  const vireo_mcu_quantize_wide* const q = (const vireo_mcu_quantize_wide*)parameters;
  bytes[0] = bytes_of((uint32_t)q->count, q->type);
  bytes[1] = (uint32_t)q->count * 4;
  return quantize_needs(q);
}
static uint32_t units_of_quantize(const void* parameters) {
  return units_of(((const vireo_mcu_quantize_wide*)parameters)->count);
}
static int32_t end_of(const vireo_mcu_quantize_wide* q, vireo_mcu_units units) {
  return units.to < units_of(q->count) ? (int32_t)units.to * kUnit : q->count;
}
static void run_quantize(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  const vireo_mcu_quantize_wide* const q = (const vireo_mcu_quantize_wide*)parameters;
  vireo_mcu_quantize_wide_run(q, o[0], (int32_t)units.from * kUnit, end_of(q, units), o[1]);
}
static void run_dequantize(const void* parameters, void* const o[VIREO_PLAN_OPERANDS], vireo_mcu_units units) {
  const vireo_mcu_quantize_wide* const q = (const vireo_mcu_quantize_wide*)parameters;
  vireo_mcu_dequantize_wide_run(q, o[0], (int32_t)units.from * kUnit, end_of(q, units), o[1]);
}
const vireo_mcu_kernel vireo_mcu_quantize_wide_kernel = {
    needs_of_quantize, units_of_quantize, run_quantize, sizeof(vireo_mcu_quantize_wide), 2, 1 << 1, 0, 3, 0};
const vireo_mcu_kernel vireo_mcu_dequantize_wide_kernel = {
    needs_of_dequantize, units_of_quantize, run_dequantize, sizeof(vireo_mcu_quantize_wide), 2, 1 << 1, 0, 3, 0};
