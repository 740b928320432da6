/* Operators on codes of 16 bits but products. */
#include <stddef.h>

#include "delegates/mcu/kernels/lanes.h"
#include "delegates/mcu/kernels/wide.h"

static int32_t clamped(int32_t r, const vireo_mcu_codes* c) { /* |r| <= 2^30, |zero| <= 65536 */
  r += c->zero;
  return r < c->low ? c->low : r > c->high ? c->high : r;
}

int32_t vireo_mcu_requantize_wide(int64_t sum, float m, const vireo_mcu_codes* codes) {
#if VIREO_MCU_FPU
  if (sum == (int32_t)sum) return mcu_to_code(mcu_round((float)(int32_t)sum * m), codes);
#endif
  return clamped(vireo_mcu_scale(sum, mcu_bits(m)), codes);
}

void vireo_mcu_binary_wide_run(const vireo_mcu_binary_wide* f, const void* a, const void* b, void* y,
                               vireo_mcu_units units) {
  const int32_t end = units.to < (uint32_t)f->rows ? (int32_t)units.to : f->rows;
  int32_t to = (int32_t)units.from * f->columns;
  for (int32_t r = (int32_t)units.from; r < end; ++r) {
    int32_t pa = r * f->a_row, pb = r * f->b_row;
    for (int32_t i = 0; i < f->columns; ++i, pa += f->a_step, pb += f->b_step, ++to) {
      const int32_t u = mcu_code_at(a, pa, f->a_type) - f->a_zero, v = mcu_code_at(b, pb, f->b_type) - f->b_zero;
      int32_t code;
      if (f->times) {
        code = vireo_mcu_requantize_wide((int64_t)u * v, f->a_multiplier, &f->codes);
      } else {
        const float s = (float)u * f->a_multiplier, t = (float)v * f->b_multiplier;
        code = mcu_to_code(mcu_round(s + t), &f->codes);
      }
      mcu_put_code(y, to, f->y_type, code);
    }
  }
}

void vireo_mcu_quantize_wide_run(const vireo_mcu_quantize_wide* q, const float* x, int32_t from, int32_t end, void* y) {
  for (int32_t i = from; i < end; ++i) {
#if VIREO_MCU_FPU
    const float v = x[i] / q->scale;
    mcu_put_code(y, i, q->type, v != v ? q->codes.low : mcu_to_code(mcu_round(v), &q->codes));
#else
    const uint32_t v = mcu_bits(x[i]);
    mcu_put_code(y, i, q->type,
                 (v & 0x7FFFFFFFu) > 0x7F800000u ? q->codes.low
                                                 : clamped(vireo_mcu_divide_reals(v, mcu_bits(q->scale)), &q->codes));
#endif
  }
}

void vireo_mcu_dequantize_wide_run(const vireo_mcu_quantize_wide* q, const void* x, int32_t from, int32_t end,
                                   float* y) {
  for (int32_t i = from; i < end; ++i) {
    const int32_t v = mcu_code_at(x, i, q->type) - q->codes.zero;
#if VIREO_MCU_FPU
    y[i] = (float)v * q->scale;
#else
    const uint32_t bits = vireo_mcu_times_real(v, mcu_bits(q->scale));
    memcpy(y + i, &bits, 4);
#endif
  }
}

/* Positions of x along an axis that output o sees, and how many when the padding counts. */
typedef struct {
  int32_t from, end, count, padded;
} taps;
static taps taps_of(const vireo_mcu_pool_wide* p, int axis, int32_t o) {
  const int32_t step = p->dilation[axis], first = o * p->stride[axis] - p->pad[axis];
  taps t = {0, 0, 0, 0};
  for (int32_t k = 0, i = first; k < p->kernel[axis]; ++k, i += step) {
    if (i < p->in[axis] + p->pad_end[axis]) ++t.padded;
    if (i < 0 || i >= p->in[axis]) continue;
    if (t.count++ == 0) t.from = i;
    t.end = i + step;
  }
  return t;
}

void vireo_mcu_average_wide(const vireo_mcu_pool_wide* p, const void* x, const float* m, void* y,
                            vireo_mcu_units units) {
  const int32_t plane = p->in[0] * p->in[1], out_plane = p->out[0] * p->out[1];
  const int32_t last = units.to < (uint32_t)p->planes ? (int32_t)units.to : p->planes;
  for (int32_t oy = 0; oy < p->out[0]; ++oy) {
    const taps ty = taps_of(p, 0, oy);
    for (int32_t ox = 0; ox < p->out[1]; ++ox) {
      const taps tx = taps_of(p, 1, ox);
      const int32_t counted = ty.count * tx.count;
      const float mine = m[p->one_multiplier ? 0 : p->count_padding ? ty.padded * tx.padded : counted];
      for (int32_t n = (int32_t)units.from; n < last; ++n) {
        int64_t sum = 0;
        for (int32_t iy = ty.from; iy < ty.end; iy += p->dilation[0]) {
          for (int32_t ix = tx.from; ix < tx.end; ix += p->dilation[1])
            sum += mcu_code_at(x, n * plane + iy * p->in[1] + ix, p->x_type) - p->x_zero;
        }
        mcu_put_code(y, n * out_plane + oy * p->out[1] + ox, p->y_type,
                     vireo_mcu_requantize_wide(sum, mine, &p->codes));
      }
    }
  }
}
