/* Filters over one plane each, in float32: a strip of rows lies with its padding in scratch memory. */
#include <stddef.h>
#include <string.h>

#include "delegates/mcu/kernels/lanes.h"
#include "delegates/mcu/kernels/real_bits.h"

enum { kBandElements = 1024 };

typedef struct {
  int32_t rows;             /* of y in a full strip */
  int32_t pitch, band_rows; /* of the band, in elements */
  int32_t columns;          /* of x that windows see */
} strip;

static int32_t span(int32_t outputs, const vireo_mcu_conv_reals* c, int axis) {
  return (outputs - 1) * c->stride[axis] + (c->kernel[axis] - 1) * c->dilation[axis] + 1;
}
static strip strip_of(const vireo_mcu_conv_reals* c) {
  strip s;
  s.pitch = span(c->out[1], c, 1);
  s.columns = s.pitch - c->pad[1] < c->in[1] ? s.pitch - c->pad[1] : c->in[1];
  if (s.columns < 0) s.columns = 0;
  s.rows = c->out[0];
  while (s.rows > 1 && span(s.rows, c, 0) * s.pitch > kBandElements) s.rows = (s.rows + 1) / 2;
  s.band_rows = span(s.rows, c, 0);
  return s;
}

uint32_t vireo_mcu_depthwise_reals_scratch(const vireo_mcu_conv_reals* c) {
  const strip s = strip_of(c);
  const uint32_t elements = (uint32_t)(s.band_rows * s.pitch); /* below 2^30 */
  return elements > UINT32_MAX / 4 ? UINT32_MAX : elements * 4;
}
int vireo_mcu_depthwise_reals_in_place(const vireo_mcu_conv_reals* c) {
  return c->out_channels == 1 && strip_of(c).rows == c->out[0] && c->in[0] == c->out[0] && c->in[1] == c->out[1];
}
static uint32_t strips_of(const vireo_mcu_conv_reals* c, const strip* s) {
  return (uint32_t)mcu_divide(c->out[0] + s->rows - 1, s->rows);
}
uint32_t vireo_mcu_depthwise_reals_units(const vireo_mcu_conv_reals* c) {
  const strip s = strip_of(c);
  return strips_of(c, &s) * (uint32_t)(c->batch * c->groups * c->out_channels);
}

/* 3 x 3 at stride 1: down the rows, two columns at a time, an odd last one alone. A row of x ends a row of y, and is in
 * two that follow. relu: results are at least 0. */
#if VIREO_MCU_REALS_ASM
/* s0-s8 are the filter, s9 the bias, s10-s13 a row of x. Sums of rows of y lie in two pairs of registers, by turns: one
 * waits for one more row of x, the other for two. 44 instructions for two outputs. */
#define ROW2 "vldmia %[x], {s10-s13}\n add %[x], %[pitch]\n"
#define TAPS2(a, b, w0, w1, w2)                                                                                     \
  "vmul.f32 s18, s10, " w0 "\n vmul.f32 s19, s11, " w0 "\n vmul.f32 s20, s11, " w1 "\n vmul.f32 s21, s12, " w1      \
  "\n vadd.f32 " a ", " a ", s18\n vadd.f32 " b ", " b ", s19\n vmul.f32 s22, s12, " w2 "\n vmul.f32 s23, s13, " w2 \
  "\n vadd.f32 " a ", " a ", s20\n vadd.f32 " b ", " b ", s21\n vadd.f32 " a ", " a ", s22\n vadd.f32 " b ", " b    \
  ", s23\n"
#define BEGIN2(a, b)                                                                                \
  "vmul.f32 " a ", s10, s0\n vmul.f32 " b                                                           \
  ", s11, s0\n vmul.f32 s18, s11, s1\n vmul.f32 s19, s12, s1\n"                                     \
  "vmul.f32 s20, s12, s2\n vmul.f32 s21, s13, s2\n vadd.f32 " a ", " a ", s18\n vadd.f32 " b ", " b \
  ", s19\n"                                                                                         \
  "vadd.f32 " a ", " a ", s20\n vadd.f32 " b ", " b ", s21\n"
#define BICS2 "bic %[t], %[t], %[t], asr #31\n bic %[u], %[u], %[u], asr #31\n"
#define END2(a, b, bics)                                                                         \
  "vadd.f32 " a ", " a ", s9\n vadd.f32 " b ", " b ", s9\n vmov %[t], %[u], " a ", " b "\n" bics \
  "strd %[t], %[u], [%[y]]\n add %[y], %[columns]\n"
#define ROW1 "vldmia %[x], {s10-s12}\n add %[x], %[pitch]\n"
#define TAPS1(a, b, w0, w1, w2)                                                                            \
  "vmul.f32 s18, s10, " w0 "\n vmul.f32 s20, s11, " w1 "\n vmul.f32 s22, s12, " w2 "\n vadd.f32 " a ", " a \
  ", s18\n vadd.f32 " a ", " a ", s20\n vadd.f32 " a ", " a ", s22\n"
#define BEGIN1(a, b)                                                                             \
  "vmul.f32 " a ", s10, s0\n vmul.f32 s18, s11, s1\n vmul.f32 s20, s12, s2\n vadd.f32 " a ", " a \
  ", s18\n"                                                                                      \
  "vadd.f32 " a ", " a ", s20\n"
#define BICS1 "bic %[t], %[t], %[t], asr #31\n"
#define END1(a, b, bics) \
  "vadd.f32 " a ", " a ", s9\n vmov %[t], " a "\n" bics "str %[t], [%[y]]\n add %[y], %[columns]\n"
#define NEXT(n, a, b, c, d, bics) \
  ROW##n TAPS##n(a, b, "s6", "s7", "s8") END##n(a, b, bics) TAPS##n(c, d, "s3", "s4", "s5") BEGIN##n(a, b)
/* An odd number of rows begins in the middle, with the pairs exchanged. */
#define FIRST_TWO_ROWS(n) \
  ROW##n BEGIN##n("s14", "s15") ROW##n TAPS##n("s14", "s15", "s3", "s4", "s5") BEGIN##n("s16", "s17")
#define EXCHANGE "vmov s18, s14\n vmov s19, s15\n vmov s14, s16\n vmov s15, s17\n vmov s16, s18\n vmov s17, s19\n"
#define COLUMNS(n, bics)                                                                        \
  "vldmia %[w], {s0-s8}\n vmov s9, %[bias]\n" FIRST_TWO_ROWS(                                   \
      n) "tst %[rows], #1\n beq 1f\n" EXCHANGE                                                  \
         "add %[rows], #1\n b 2f\n 1:\n" NEXT(n, "s14", "s15", "s16", "s17", bics) "2:\n" NEXT( \
             n, "s16", "s17", "s14", "s15", bics) "subs %[rows], #2\n bne 1b\n"
/* A row alone, as strips have it. */
#define COLUMNS_OF_ONE(n, bics)                                                             \
  "vldmia %[w], {s0-s8}\n vmov s9, %[bias]\n" ROW##n BEGIN##n("s14", "s15") ROW##n TAPS##n( \
      "s14", "s15", "s3", "s4", "s5") ROW##n TAPS##n("s14", "s15", "s6", "s7", "s8") END##n("s14", "s15", bics)
#define RUN(code)                                                                                                     \
  __asm__ volatile(code                                                                                               \
                   : [x] "+r"(x), [y] "+r"(y), [rows] "+r"(rows), [t] "=&r"(t), [u] "=&r"(u)                          \
                   : [w] "r"(w), [bias] "r"(bias), [pitch] "r"(4 * pitch), [columns] "r"(4 * c->out[1])               \
                   : "cc", "memory", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", \
                     "s13", "s14", "s15", "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23")
MCU_INLINE void column_3x3(const vireo_mcu_conv_reals* c, const float* w, float bias, const float* x, int32_t pitch,
                           int32_t rows, float* y, int relu, int two) {
  uint32_t t, u;
  if (rows == 1 && two && relu) {
    RUN(COLUMNS_OF_ONE(2, BICS2));
  } else if (rows == 1 && two) {
    RUN(COLUMNS_OF_ONE(2, ""));
  } else if (rows == 1 && relu) {
    RUN(COLUMNS_OF_ONE(1, BICS1));
  } else if (rows == 1) {
    RUN(COLUMNS_OF_ONE(1, ""));
  } else if (two && relu) {
    RUN(COLUMNS(2, BICS2));
  } else if (two) {
    RUN(COLUMNS(2, ""));
  } else if (relu) {
    RUN(COLUMNS(1, BICS1));
  } else {
    RUN(COLUMNS(1, ""));
  }
}
#else
#define ROW() x += pitch, v0 = x[0], v1 = x[1], v2 = x[2], v3 = two ? x[3] : 0
#define BEGIN(s, t, a, b, c)                             \
  do {                                                   \
    s = v0 * (a), s += v1 * (b), s += v2 * (c);          \
    if (two) t = v1 * (a), t += v2 * (b), t += v3 * (c); \
  } while (0)
#define LINE(s, t, s_from, t_from, a, b, c)                         \
  do {                                                              \
    s = (s_from) + v0 * (a), s += v1 * (b), s += v2 * (c);          \
    if (two) t = (t_from) + v1 * (a), t += v2 * (b), t += v3 * (c); \
  } while (0)
#define PUT(to, v) to = relu ? mcu_at_least((v) + bias, 0) : (v) + bias
MCU_INLINE void column_3x3(const vireo_mcu_conv_reals* c, const float* w, float bias, const float* x, int32_t pitch,
                           int32_t rows, float* y, int relu, int two) {
  const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6], w7 = w[7], w8 = w[8];
  const int32_t columns = c->out[1];
  float v0, v1, v2, v3, s1, s2, s3, t1 = 0, t2 = 0, t3 = 0;
  x -= pitch;
  ROW();
  BEGIN(s1, t1, w0, w1, w2);
  ROW();
  LINE(s2, t2, s1, t1, w3, w4, w5);
  BEGIN(s1, t1, w0, w1, w2);
  for (; rows > 0; --rows, y += columns) {
    ROW();
    LINE(s3, t3, s2, t2, w6, w7, w8);
    PUT(y[0], s3);
    if (two) PUT(y[1], t3);
    LINE(s2, t2, s1, t1, w3, w4, w5);
    BEGIN(s1, t1, w0, w1, w2);
  }
}
#endif
MCU_INLINE void lines_3x3(const vireo_mcu_conv_reals* c, const float* w, float bias, const float* band, int32_t pitch,
                          int32_t rows, float* y, int relu) {
  int32_t j = c->out[1];
  for (; j >= 2; j -= 2, band += 2, y += 2) column_3x3(c, w, bias, band, pitch, rows, y, relu, 1);
  if (j != 0) column_3x3(c, w, bias, band, pitch, rows, y, relu, 0);
}
MCU_APART static void windows_3x3(const vireo_mcu_conv_reals* c, const float* w, float bias, const float* band,
                                  int32_t pitch, int32_t rows, float* y) {
#if VIREO_MCU_REALS_ASM
  const uint32_t was = mcu_plain_nans();
#endif
  if (mcu_is_relu(&c->bounds)) {
    lines_3x3(c, w, bias, band, pitch, rows, y, 1);
  } else {
    lines_3x3(c, w, bias, band, pitch, rows, y, 0);
  }
#if VIREO_MCU_REALS_ASM
  mcu_set_nans(was);
#endif
  if (mcu_has_bounds(&c->bounds)) {
    for (const float* const end = y + rows * c->out[1]; y != end; ++y) *y = mcu_bounded(*y, &c->bounds);
  }
}

MCU_APART static void windows(const vireo_mcu_conv_reals* c, const float* w, float bias, const float* band,
                              int32_t pitch, int32_t rows, float* y) {
  const vireo_mcu_bounds bounds = c->bounds;
  const int32_t down = c->dilation[0] * pitch, right = c->dilation[1], columns = c->kernel[1];
  const int three = columns == 3 && right == 1;
  for (; rows > 0; --rows, band += c->stride[0] * pitch) {
    const float* window = band;
    for (int32_t j = c->out[1]; j > 0; --j, window += c->stride[1]) {
      const float *tap = w, *line = window;
      int32_t ky = c->kernel[0] - 1;
      float sum;
      if (three) {
        sum = line[0] * tap[0], sum += line[1] * tap[1], sum += line[2] * tap[2];
        for (; ky > 0; --ky) {
          line += down, tap += 3;
          sum += line[0] * tap[0], sum += line[1] * tap[1], sum += line[2] * tap[2];
        }
      } else {
        const float* x = line;
        sum = *x * *tap++;
        for (int32_t n = columns; n > 1; --n) x += right, sum += *x * *tap++;
        for (; ky > 0; --ky) {
          x = line += down;
          for (int32_t n = columns; n > 0; --n, x += right) sum += *x * *tap++;
        }
      }
      *y++ = mcu_bounded(sum + bias, &bounds);
    }
  }
}

/* Rows of a plane from row iy on, with what is beside them. */
MCU_APART static void fill_band(const vireo_mcu_conv_reals* c, const strip* s, const float* plane, int32_t iy,
                                int32_t rows, float* to) {
  const int32_t pitch = s->pitch, columns = s->columns, left = c->pad[1] < pitch ? c->pad[1] : pitch;
  const int32_t skip = pitch - columns, skip_x = c->in[1] - columns, fours = columns >> 2, rest = columns & 3;
  if (s->rows < c->out[0]) memset(to, 0, (uint32_t)(rows * pitch) * sizeof *to); /* else they are the same each time */
  const int32_t end = iy + rows < c->in[0] ? iy + rows : c->in[0];
  if (iy < 0) to -= iy * pitch, iy = 0;
  to += left;
  const float* from = plane + iy * c->in[1];
  for (int32_t i = end - iy; i > 0; --i, to += skip, from += skip_x) {
    for (int32_t n = fours; n != 0; --n) MCU_COPY_FOUR(to, from);
    for (int32_t n = rest; n != 0; --n) MCU_COPY_ONE(to, from);
  }
}

void vireo_mcu_depthwise_reals_run(const vireo_mcu_conv_reals* c, const float* x, const float* w, const float* bias,
                                   float* y, float* scratch, vireo_mcu_units units) {
  const strip s = strip_of(c);
  const int32_t taps = c->kernel[0] * c->kernel[1], in_plane = c->in[0] * c->in[1], out_plane = c->out[0] * c->out[1];
  const int32_t channels = c->groups * c->out_channels, of_one = c->out_channels;
  const int by_3 = c->kernel[0] == 3 && c->kernel[1] == 3 && (c->stride[0] | c->stride[1]) == 1 &&
                   (c->dilation[0] | c->dilation[1]) == 1;
  uint32_t unit = 0;
  memset(scratch, 0, (uint32_t)(s.band_rows * s.pitch) * sizeof *scratch);
  for (int32_t image = 0; image < c->batch; ++image) {
    for (int32_t channel = 0; channel < channels; ++channel, y += out_plane) {
      const float* const plane =
          x + (image * c->groups + (of_one == 1 ? channel : mcu_divide(channel, of_one))) * in_plane;
      for (int32_t row = 0; row < c->out[0]; row += s.rows, ++unit) {
        if (unit < units.from) continue;
        if (unit >= units.to) return;
        const int32_t rows = c->out[0] - row < s.rows ? c->out[0] - row : s.rows;
        const int32_t band_rows = rows == s.rows ? s.band_rows : span(rows, c, 0);
        fill_band(c, &s, plane, row * c->stride[0] - c->pad[0], band_rows, scratch);
        const float* const own = w + channel * taps;
        const float add = bias != NULL ? bias[channel] : 0;
        if (by_3) {
          windows_3x3(c, own, add, scratch, s.pitch, rows, y + row * c->out[1]);
        } else {
          windows(c, own, add, scratch, s.pitch, rows, y + row * c->out[1]);
        }
      }
    }
  }
}
