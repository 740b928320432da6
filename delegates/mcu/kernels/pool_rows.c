#include "delegates/mcu/kernels/pool_rows.h"

#include "delegates/mcu/kernels/pool_sums.h"

void vireo_mcu_average_rows(const vireo_mcu_pool_rows* p, const uint8_t* x, const float* m, int32_t* sums, uint8_t* y,
                            vireo_mcu_units units) {
  const vireo_mcu_rows* const r = &p->rows;
  const int32_t count = r->rows * r->columns, all = r->all * r->columns, first = (int32_t)units.from;
  const int32_t end = units.to < (uint32_t)r->planes ? (int32_t)units.to : r->planes;
  const int32_t step = p->last ? r->planes : 1, plane = p->last ? 1 : count;
  const int32_t before = -((int8_t)(uint8_t)(p->x_zero ^ p->x_flip)) * all;
  x += first * plane;
  for (int32_t c = first; c < end; ++c, x += plane) {
    const int32_t sum = (r->first == 0 ? before : sums[c]) + mcu_sum_row(x, step, count, p->x_flip);
    if (r->first + r->rows < r->all) {
      sums[c] = sum;
    } else {
      y[c] = (uint8_t)mcu_requantize(sum, m[p->one_multiplier ? 0 : all], &p->codes);
    }
  }
}

void vireo_mcu_average_rows_reals(const vireo_mcu_rows* p, const float* x, float* y, vireo_mcu_units units) {
  const int32_t count = p->rows * p->columns, first = (int32_t)units.from;
  const int32_t end = units.to < (uint32_t)p->planes ? (int32_t)units.to : p->planes;
  const int done = p->first + p->rows >= p->all;
  const float all = (float)(p->all * p->columns);
  x += first * count;
  for (int32_t c = first; c < end; ++c) {
    float of = p->first == 0 ? 0 : y[c];
    for (int32_t n = count; n > 0; --n) of += *x++;
    y[c] = done ? of / all : of;
  }
}
