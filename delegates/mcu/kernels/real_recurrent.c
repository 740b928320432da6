/* LSTM, GRU and RNN in float32, step by step: reals_more.h says what each computes. Weights are read as a file has
 * them, four rows beside one another, so that an element of the vector serves four products. */
#include <stddef.h>

#include "delegates/mcu/kernels/real_bits.h"
#include "delegates/mcu/kernels/reals_more.h"

static float sigmoid(float x) { return 1 / (1 + vireo_mcu_exp(-x)); }

/* sums[i] += w[i] . v for rows i; a sum begins with what is there. */
static void add_products(const float* w, const float* v, int32_t rows, int32_t count, float* sums) {
  for (; rows >= 4; rows -= 4, w += 4 * count, sums += 4) {
    const float *r0 = w, *r1 = r0 + count, *r2 = r1 + count, *r3 = r2 + count;
    float a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    for (const float *p = v, *const end = v + count; p != end; ++p) {
      const float e = *p;
      a += e * *r0++, b += e * *r1++, c += e * *r2++, d += e * *r3++;
    }
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
  }
  for (; rows > 0; --rows, w += count, ++sums) {
    float a = *sums;
    for (int32_t i = 0; i < count; ++i) a += v[i] * w[i];
    *sums = a;
  }
}

/* The biases of both sides, or 0. */
static void begin(const float* bias, int32_t both, int32_t rows, float* sums) {
  for (int32_t i = 0; i < rows; ++i) sums[i] = bias != NULL ? bias[i] + bias[both + i] : 0;
}

int32_t vireo_mcu_recurrent_gates(const vireo_mcu_recurrent* r) {
  return r->cell == VIREO_MCU_LSTM ? 4 : r->cell == VIREO_MCU_GRU ? 3 : 1;
}
uint32_t vireo_mcu_recurrent_units(const vireo_mcu_recurrent* r) {
  return (uint32_t)r->directions * (uint32_t)r->batch * (uint32_t)r->steps;
}
/* The gates, and a GRU's sums of its last one. */
uint32_t vireo_mcu_recurrent_scratch(const vireo_mcu_recurrent* r) { return (uint32_t)r->hidden * 4 * 4; }

static void run_step(const vireo_mcu_recurrent* r, const float* x, const float* w, float* h, float* c, float* gates) {
  const int32_t n = r->hidden, rows = vireo_mcu_recurrent_gates(r) * n;
  const float *const u = w + rows * r->inputs, *const bias = r->has_bias ? u + rows * n : NULL;
  float* const extra = gates + 3 * n;
  const int gru = r->cell == VIREO_MCU_GRU;
  begin(bias, rows, gru ? 2 * n : rows, gates);
  if (gru) {
    for (int32_t k = 0; k < n; ++k) gates[2 * n + k] = bias != NULL ? bias[2 * n + k] : 0;
    for (int32_t k = 0; k < n; ++k) extra[k] = bias != NULL ? bias[rows + 2 * n + k] : 0;
  }
  add_products(w, x, rows, r->inputs, gates);
  add_products(u, h, gru ? 2 * n : rows, n, gates);
  if (r->cell == VIREO_MCU_RNN) {
    for (int32_t k = 0; k < n; ++k) h[k] = vireo_mcu_tanh(gates[k]);
  } else if (r->cell == VIREO_MCU_LSTM) { /* i o f c */
    for (int32_t k = 0; k < n; ++k) {
      const float in = sigmoid(gates[k]), forget = sigmoid(gates[2 * n + k]);
      c[k] = forget * c[k] + in * vireo_mcu_tanh(gates[3 * n + k]);
      h[k] = sigmoid(gates[n + k]) * vireo_mcu_tanh(c[k]);
    }
  } else { /* z r h */
    float* const reset = gates + n;
    for (int32_t k = 0; k < 2 * n; ++k) gates[k] = sigmoid(gates[k]);
    if (r->reset_last) {
      add_products(u + 2 * n * n, h, n, n, extra);
      for (int32_t k = 0; k < n; ++k) extra[k] *= reset[k];
    } else {
      for (int32_t k = 0; k < n; ++k) reset[k] *= h[k];
      add_products(u + 2 * n * n, reset, n, n, extra);
    }
    for (int32_t k = 0; k < n; ++k)
      h[k] = (1 - gates[k]) * vireo_mcu_tanh(gates[2 * n + k] + extra[k]) + gates[k] * h[k];
  }
}

void vireo_mcu_recurrent_run(const vireo_mcu_recurrent* r, const float* x, const float* weights, const float* first_h,
                             const float* first_c, float* y, float* state, float* scratch, vireo_mcu_units units) {
  const uint32_t all = vireo_mcu_recurrent_units(r), end = units.to < all ? units.to : all;
  const int32_t n = r->hidden, rows = vireo_mcu_recurrent_gates(r) * n;
  const int32_t of_direction = rows * (r->inputs + n + (r->has_bias ? 2 : 0));
  const int32_t lines = mcu_divide((int32_t)units.from, r->steps);
  int32_t step = (int32_t)units.from - lines * r->steps, d = mcu_divide(lines, r->batch), b = lines - d * r->batch;
  float* const cells = state + r->directions * r->batch * n;
  for (uint32_t unit = units.from; unit < end; ++unit) {
    const int32_t at = d * r->state_direction + b * r->state_batch;
    float *const h = state + at, *const c = r->cell == VIREO_MCU_LSTM ? cells + at : NULL;
    if (step == 0) {
      for (int32_t k = 0; k < n; ++k) h[k] = first_h != NULL ? first_h[at + k] : 0;
      for (int32_t k = 0; c != NULL && k < n; ++k) c[k] = first_c != NULL ? first_c[at + k] : 0;
    }
    const int32_t t = d == 1 || r->first_reversed ? r->steps - 1 - step : step;
    run_step(r, x + t * r->x_step + b * r->x_batch, weights + d * of_direction, h, c, scratch);
    if (y != NULL) {
      float* const to = y + t * r->y_step + b * r->y_batch + d * r->y_direction;
      for (int32_t k = 0; k < n; ++k) to[k] = h[k];
    }
    if (++step == r->steps) {
      step = 0;
      if (++b == r->batch) b = 0, ++d;
    }
  }
}
