/* Float32 along axes: reals_more.h says what each computes. */
#include <stddef.h>

#include "delegates/mcu/kernels/real_bits.h"
#include "delegates/mcu/kernels/reals_more.h"

/* What is summed up, multiplied, or compared, of one element. */
static float taken(int32_t what, float total, float v, float most) {
  switch (what) {
    case VIREO_MCU_MOST:
      return total > v || total != total ? total : v;
    case VIREO_MCU_LEAST:
      return total < v || total != total ? total : v;
    case VIREO_MCU_PRODUCT:
      return total * v;
    case VIREO_MCU_SIZES:
      return total + mcu_absolute(v);
    case VIREO_MCU_SQUARES:
    case VIREO_MCU_ROOT_OF_SQUARES:
      return total + v * v;
    case VIREO_MCU_LOG_OF_EXPS:
      return total + vireo_mcu_exp(v - most);
    default:
      return total + v;
  }
}

static float over(const vireo_mcu_reduce_reals* r, int32_t what, const float* x, float most) {
  const float* const first = x;
  float total = what == VIREO_MCU_MOST || what == VIREO_MCU_LEAST ? *first : what == VIREO_MCU_PRODUCT ? 1 : 0;
  for (int32_t i = 0; i < r->over[0]; ++i) {
    for (int32_t j = 0; j < r->over[1]; ++j) {
      x = first + i * r->over_step[0] + j * r->over_step[1];
      for (int32_t k = r->over[2]; k > 0; --k, x += r->over_step[2]) total = taken(what, total, *x, most);
    }
  }
  return total;
}

static float result(const vireo_mcu_reduce_reals* r, const float* x) {
  const int32_t what = r->what;
  float most = 0;
  if (what == VIREO_MCU_LOG_OF_EXPS) {
    most = over(r, VIREO_MCU_MOST, x, 0);
    if (!(mcu_absolute(most) <= 3.4028235e38f)) return most;
  }
  const float total = over(r, what, x, most);
  switch (what) {
    case VIREO_MCU_MEAN:
      return total / (float)(r->over[0] * r->over[1] * r->over[2]);
    case VIREO_MCU_ROOT_OF_SQUARES:
      return mcu_root(total);
    case VIREO_MCU_LOG_OF_SUM:
    case VIREO_MCU_LOG_OF_EXPS:
      return vireo_mcu_log(total) + most;
    default:
      return total;
  }
}

void vireo_mcu_reduce_reals_run(const vireo_mcu_reduce_reals* r, const float* x, float* y, vireo_mcu_units units) {
  const uint32_t all = (uint32_t)(r->kept[0] * r->kept[1] * r->kept[2]), end = units.to < all ? units.to : all;
  for (uint32_t u = units.from; u < end; ++u) {
    int32_t rest = (int32_t)u, at = 0;
    for (int a = VIREO_MCU_REDUCED_AXES - 1; a >= 0; --a) {
      const int32_t above = mcu_divide(rest, r->kept[a]);
      at += (rest - above * r->kept[a]) * r->kept_step[a];
      rest = above;
    }
    y[u] = result(r, x + at);
  }
}

void vireo_mcu_norm_reals_run(const vireo_mcu_norm_reals* n, const float* x, const float* scale, const float* bias,
                              float* y, vireo_mcu_units units) {
  const int32_t end = units.to < (uint32_t)n->lines ? (int32_t)units.to : n->lines, count = n->count;
  for (int32_t line = (int32_t)units.from; line < end; ++line) {
    const float* const from = x + line * count;
    float* const to = y + line * count;
    float mean = 0, squares = 0;
    if (n->centred) {
      for (int32_t i = 0; i < count; ++i) mean += from[i];
      mean = mean / (float)count;
    }
    for (int32_t i = 0; i < count; ++i) {
      const float d = from[i] - mean;
      squares += d * d;
    }
    const float inverse = 1 / mcu_root(squares / (float)count + n->epsilon);
    int32_t at = (line - mcu_divide(line, n->period) * n->period) * n->of_line;
    for (int32_t i = 0; i < count; ++at) {
      const float factor = scale[at], more = bias != NULL ? bias[at] : 0;
      for (int32_t k = n->span; k > 0; --k, ++i) {
        const float v = (from[i] - mean) * inverse * factor;
        to[i] = bias != NULL ? v + more : v;
      }
    }
  }
}

void vireo_mcu_resample_run(const vireo_mcu_resample* r, const float* x, const int32_t* first, const float* w, float* y,
                            vireo_mcu_units units) {
  const uint32_t all = (uint32_t)(r->outer * r->count), end = units.to < all ? units.to : all;
  const int32_t inner = r->inner, last = r->axis - 1;
  y += (int32_t)units.from * inner;
  for (uint32_t u = units.from; u < end; ++u, y += inner) {
    const int32_t outer = mcu_divide((int32_t)u, r->count), at = (int32_t)u - outer * r->count;
    const float* const plane = x + outer * r->axis * inner;
    for (int32_t t = 0; t < r->taps; ++t) {
      const int32_t place = first[at], row = place < -t ? 0 : place > last - t ? last : place + t;
      const float* const from = plane + row * inner;
      const float factor = w[at * r->taps + t];
      for (int32_t i = 0; i < inner; ++i) y[i] = t == 0 ? factor * from[i] : y[i] + factor * from[i];
    }
  }
}
