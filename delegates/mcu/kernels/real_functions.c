/* Float32 operators but products: reals.h says what each computes. */
#include <stddef.h>

#include "delegates/mcu/kernels/real_bits.h"

/* x = n ln 2 + r, |r| <= 0.35; ln 2 in two parts, of which n times the first is exact. exp(r) by a polynomial of degree
 * 6, of Cody and Waite's kind (Cephes, expf). */
float vireo_mcu_exp(float x) {
  if (x != x) return x;
  if (x > 88.72283f) return mcu_of_bits(0x7F800000u);
  if (x < -87.33654f) return 0;
  const float shifted = x * 1.44269504f + 12582912.0f; /* at 1.5 * 2^23 the last bit of a float32 is worth 1 */
  const float n = shifted - 12582912.0f;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = (p * r * r + r) + 1;
  /* 2^n in two factors: at n of 128 one alone has no bits. */
  const int32_t power = (int32_t)mcu_bits(shifted) - 0x4B400000, half = power >> 1;
  return p * mcu_of_bits((uint32_t)(127 + half) << 23) * mcu_of_bits((uint32_t)(127 + power - half) << 23);
}

static float sigmoid(float x) { return 1 / (1 + vireo_mcu_exp(-x)); }

/* Below 0.625 a polynomial, for exp(2x) - 1 has few digits there (Cephes, tanhf). */
float vireo_mcu_tanh(float x) {
  const float size = mcu_absolute(x);
  if (size < 0.625f) {
    const float z = x * x;
    float p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    return p * z * x + x;
  }
  const float t = size > 10 ? 1 : 1 - 2 / (vireo_mcu_exp(2 * size) + 1);
  return x < 0 ? -t : t;
}

/* The root of 48 or 47 digits, of which x is a power of 4: 24 digits, and what is left says how to round. */
uint32_t vireo_mcu_root_of_bits(uint32_t x_bits) {
  uint32_t mantissa = x_bits & 0x7FFFFFu, root = 0;
  int32_t exponent = (int32_t)(x_bits >> 23);
  if (exponent >= 255 || x_bits == 0) return x_bits;
  if (exponent == 0) {
    for (exponent = 1; (mantissa & 0x800000u) == 0; --exponent) mantissa <<= 1;
  }
  const uint64_t square = (uint64_t)(mantissa | 0x800000u) << ((exponent & 1) != 0 ? 23 : 24);
  for (uint32_t bit = 0x800000u; bit != 0; bit >>= 1) {
    const uint64_t tried = root | bit;
    if (tried * tried <= square) root |= bit;
  }
  if (square - (uint64_t)root * root > root) ++root;
  return ((uint32_t)((exponent + 127) >> 1) << 23) + root - 0x800000u;
}

MCU_INLINE float within(float v, float low, float high) {
  v = v < low ? low : v;
  return v > high ? high : v;
}

static float function_of(int32_t what, float x, float a, float b) {
  switch (what) {
    case VIREO_MCU_LEAKY_RELU:
      return x < 0 ? a * x : x;
    case VIREO_MCU_SIGMOID:
      return sigmoid(x);
    case VIREO_MCU_TANH:
      return vireo_mcu_tanh(x);
    case VIREO_MCU_HARD_SIGMOID:
      return within(a * x + b, 0, 1);
    case VIREO_MCU_HARD_SWISH:
      return x * within(a * x + b, 0, 1);
    case VIREO_MCU_SWISH:
      return x * sigmoid(a * x);
    case VIREO_MCU_ELU:
      return x < 0 ? a * (vireo_mcu_exp(x) - 1) : x;
    case VIREO_MCU_EXP:
      return vireo_mcu_exp(x);
    case VIREO_MCU_NEGATE:
      return -x;
    case VIREO_MCU_ABSOLUTE:
      return mcu_absolute(x);
    default:
      return mcu_root(x);
  }
}

void vireo_mcu_function_run(const vireo_mcu_function* f, const float* x, int32_t count, float* y) {
  const float a = f->a, b = f->b;
  const float* const end = x + count;
  if (f->what == VIREO_MCU_CLIP) {
    for (; x != end; ++x, ++y) *y = within(*x, a, b);
    return;
  }
  for (; x != end; ++x, ++y) *y = function_of(f->what, *x, a, b);
}

void vireo_mcu_binary_reals_run(const vireo_mcu_binary_reals* f, const float* a, const float* b, float* y) {
  const int32_t a_step = f->a_step, b_step = f->b_step, what = f->what;
#define EACH(op) \
  for (; y != end; pa += a_step, pb += b_step) *y++ = *pa op * pb
  for (int32_t r = 0; r < f->rows; ++r, a += f->a_row, b += f->b_row) {
    const float *pa = a, *pb = b, *const end = y + f->columns;
    if (what == VIREO_MCU_ADD_REALS) {
      EACH(+);
    } else if (what == VIREO_MCU_MUL_REALS) {
      EACH(*);
    } else if (what == VIREO_MCU_SUB_REALS) {
      EACH(-);
    } else {
      EACH(/);
    }
  }
#undef EACH
}

void vireo_mcu_softmax_reals_run(const vireo_mcu_softmax_reals* s, const float* x, float* y) {
  const int32_t step = s->inner, line = s->axis * s->inner;
  for (int32_t o = 0; o < s->outer; ++o, x += line, y += line) {
    for (int32_t i = 0; i < s->inner; ++i) {
      float most = x[i], sum = 0;
      for (int32_t k = i; k < line; k += step) most = x[k] > most ? x[k] : most;
      for (int32_t k = i; k < line; k += step) {
        const float e = vireo_mcu_exp(x[k] - most);
        y[k] = e;
        sum += e;
      }
      for (int32_t k = i; k < line; k += step) y[k] = y[k] / sum;
    }
  }
}

/* ---- Pools */

/* Positions of x along an axis that output o sees, and how many when the padding counts. */
typedef struct {
  int32_t from, count, padded;
} taps;
static taps taps_of(const vireo_mcu_pool_reals* p, int axis, int32_t o) {
  const int32_t step = p->dilation[axis], first = o * p->stride[axis] - p->pad[axis];
  taps t = {0, 0, 0};
  for (int32_t k = 0, i = first; k < p->kernel[axis]; ++k, i += step) {
    if (i < p->in[axis] + p->pad_end[axis]) ++t.padded;
    if (i < 0 || i >= p->in[axis]) continue;
    if (t.count++ == 0) t.from = i;
  }
  return t;
}

MCU_INLINE float greater(float most, float v) { return v > most || v != v ? v : most; }
/* rows of `columns` elements, which are `right` apart. */
MCU_INLINE float window(const float* x, int32_t rows, int32_t columns, int32_t down, int32_t right, int average) {
  float of = average ? 0 : mcu_of_bits(0xFF800000u);
  for (; rows > 0; --rows, x += down) {
    const float* at = x;
    int32_t n = columns;
    if (right == 1) {
      for (; n >= 4; n -= 4, at += 4) {
        const float v0 = at[0], v1 = at[1], v2 = at[2], v3 = at[3];
        if (average) {
          of += v0, of += v1, of += v2, of += v3;
        } else {
          of = greater(greater(greater(greater(of, v0), v1), v2), v3);
        }
      }
    }
    for (; n > 0; --n, at += right) {
      const float v = *at;
      of = average ? of + v : greater(of, v);
    }
  }
  return of;
}
MCU_INLINE void pool(const vireo_mcu_pool_reals* p, const float* x, float* y, vireo_mcu_units units, int average) {
  const int32_t row = p->in[1], plane = p->in[0] * row, out_plane = p->out[0] * p->out[1];
  const int32_t first = (int32_t)units.from, end = units.to < (uint32_t)p->planes ? (int32_t)units.to : p->planes;
  y += first * out_plane;
  x += first * plane;
  for (int32_t oy = 0; oy < p->out[0]; ++oy) {
    const taps ty = taps_of(p, 0, oy);
    for (int32_t ox = 0; ox < p->out[1]; ++ox, ++y) {
      const taps tx = taps_of(p, 1, ox);
      int32_t rows = ty.count, columns = tx.count;
      const float count = (float)(p->count_padding ? ty.padded * tx.padded : rows * columns);
      if (columns == row && p->dilation[0] == 1) columns *= rows, rows = 1; /* behind one another */
      const float* from = x + (ty.from * row + tx.from);
      float* to = y;
      for (int32_t n = first; n < end; ++n, to += out_plane, from += plane) {
        const float of = window(from, rows, columns, p->dilation[0] * row, p->dilation[1], average);
        *to = average ? of / count : of;
      }
    }
  }
}
void vireo_mcu_average_reals(const vireo_mcu_pool_reals* p, const float* x, float* y, vireo_mcu_units units) {
  pool(p, x, y, units, 1);
}
void vireo_mcu_max_reals(const vireo_mcu_pool_reals* p, const float* x, float* y, vireo_mcu_units units) {
  pool(p, x, y, units, 0);
}
