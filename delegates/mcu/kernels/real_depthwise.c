/* Filters over one plane each, in float32: a strip of rows lies with its padding in scratch memory. */
#include <float.h>
#include <stddef.h>
#include <string.h>

#include "delegates/mcu/kernels/lanes.h"
#include "delegates/mcu/kernels/reals.h"

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
 * two that follow. lower: there is a lower bound alone. */
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
#define PUT(to, v) to = lower ? mcu_at_least((v) + bias, bounds.low) : mcu_bounded((v) + bias, &bounds)
MCU_INLINE void column_3x3(const vireo_mcu_conv_reals* c, const float* w, float bias, const float* x, int32_t pitch,
                           int32_t rows, float* y, int lower, int two) {
  const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6], w7 = w[7], w8 = w[8];
  const vireo_mcu_bounds bounds = c->bounds;
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
MCU_INLINE void lines_3x3(const vireo_mcu_conv_reals* c, const float* w, float bias, const float* band, int32_t pitch,
                          int32_t rows, float* y, int lower) {
  int32_t j = c->out[1];
  for (; j >= 2; j -= 2, band += 2, y += 2) column_3x3(c, w, bias, band, pitch, rows, y, lower, 1);
  if (j != 0) column_3x3(c, w, bias, band, pitch, rows, y, lower, 0);
}
MCU_APART static void windows_3x3(const vireo_mcu_conv_reals* c, const float* w, float bias, const float* band,
                                  int32_t pitch, int32_t rows, float* y) {
  if (c->bounds.high > FLT_MAX) {
    lines_3x3(c, w, bias, band, pitch, rows, y, 1);
  } else {
    lines_3x3(c, w, bias, band, pitch, rows, y, 0);
  }
}

MCU_APART static void windows(const vireo_mcu_conv_reals* c, const float* w, float bias, const float* band,
                              int32_t pitch, int32_t rows, float* y) {
  const vireo_mcu_bounds bounds = c->bounds;
  const int32_t down = c->dilation[0] * pitch, right = c->dilation[1], columns = c->kernel[1];
  for (; rows > 0; --rows, band += c->stride[0] * pitch) {
    const float* window = band;
    for (int32_t j = c->out[1]; j > 0; --j, window += c->stride[1]) {
      const float *tap = w, *line = window;
      float sum = 0;
      for (int32_t ky = c->kernel[0]; ky > 0; --ky, line += down) {
        const float* x = line;
        for (const float* const end = tap + columns; tap != end; x += right) {
          const float product = *x * *tap;
          sum = tap == w ? product : sum + product;
          ++tap;
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
  const int32_t skip = pitch - columns, row = c->in[1];
  if (s->rows < c->out[0]) memset(to, 0, (uint32_t)(rows * pitch) * sizeof *to); /* else they are the same each time */
  int32_t end = iy + rows < c->in[0] ? iy + rows : c->in[0];
  if (iy < 0) to -= iy * pitch, iy = 0;
  to += left;
  const float* from = plane + iy * row;
  for (; iy < end; ++iy, to += skip, from += row - columns) {
    for (const float* const last = from + columns; from != last;) *to++ = *from++;
  }
}

void vireo_mcu_depthwise_reals_run(const vireo_mcu_conv_reals* c, const float* x, const float* w, const float* bias,
                                   float* y, float* scratch, vireo_mcu_units units) {
  const strip s = strip_of(c);
  const int32_t taps = c->kernel[0] * c->kernel[1], in_plane = c->in[0] * c->in[1], out_plane = c->out[0] * c->out[1];
  const int32_t channels = c->groups * c->out_channels;
  const int by_3 = c->kernel[0] == 3 && c->kernel[1] == 3 && (c->stride[0] | c->stride[1]) == 1 &&
                   (c->dilation[0] | c->dilation[1]) == 1;
  uint32_t unit = 0;
  memset(scratch, 0, (uint32_t)(s.band_rows * s.pitch) * sizeof *scratch);
  for (int32_t image = 0; image < c->batch; ++image) {
    for (int32_t channel = 0; channel < channels; ++channel, y += out_plane) {
      const float* const plane = x + (image * c->groups + mcu_divide(channel, c->out_channels)) * in_plane;
      for (int32_t row = 0; row < c->out[0]; row += s.rows, ++unit) {
        if (unit < units.from) continue;
        if (unit >= units.to) return;
        const int32_t rows = c->out[0] - row < s.rows ? c->out[0] - row : s.rows;
        fill_band(c, &s, plane, row * c->stride[0] - c->pad[0], span(rows, c, 0), scratch);
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
