#include "delegates/mcu/kernels/depthwise.h"

#include "delegates/mcu/kernels/lanes.h"

enum { kBandBytes = 2048 };

/* A strip of output rows and the rows of x below it. */
typedef struct {
  int32_t rows;      /* of y in a full strip */
  int32_t pitch;     /* of the band */
  int32_t band_rows; /* of a full strip */
  int32_t columns;   /* of x that windows see */
} strip;

static int32_t span(int32_t outputs, const vireo_mcu_conv* c, int axis) {
  return (outputs - 1) * c->stride[axis] + (c->kernel[axis] - 1) * c->dilation[axis] + 1;
}

static strip strip_of(const vireo_mcu_conv* c) {
  strip s;
  s.pitch = (span(c->out[1], c, 1) + 3) & ~3;
  s.columns = s.pitch - c->pad[1] < c->in[1] ? s.pitch - c->pad[1] : c->in[1];
  if (s.columns < 0) s.columns = 0;
  s.rows = c->out[0];
  while (s.rows > 1 && span(s.rows, c, 0) * s.pitch > kBandBytes) s.rows = (s.rows + 1) / 2;
  s.band_rows = span(s.rows, c, 0);
  return s;
}

/* With what windows read behind it and do not use: a word, or a vector. */
static uint32_t band_bytes(const strip* s) { return (uint32_t)(s->band_rows * s->pitch) + 16; }
static uint32_t taps_bytes(const vireo_mcu_conv* c) { return ((uint32_t)(c->kernel[0] * c->kernel[1]) * 2 + 7) & ~7u; }

uint32_t vireo_mcu_depthwise_scratch(const vireo_mcu_conv* c) {
  const strip s = strip_of(c);
  return taps_bytes(c) + band_bytes(&s);
}

int vireo_mcu_depthwise_in_place(const vireo_mcu_conv* c) {
  const strip s = strip_of(c);
  return c->out_channels == 1 && s.rows == c->out[0] && c->in[0] == c->out[0] && c->in[1] == c->out[1];
}

/* One filter: its taps less their zero point, the bias with the zero point of x in it, and the multiplier. */
typedef struct {
  const int16_t* taps;
  uint32_t bias;
  mcu_multiplier by;
#if VIREO_MCU_MVE
  const int8_t* bytes; /* the taps as they lie, where they have no zero point and only vectors read them */
#endif
} filter;

/* Rows of a plane into the band. from: bytes `step` apart, the rows as their columns say. */
typedef struct {
  int32_t step, row, columns, pitch;
  uint8_t flip;
} copy;

MCU_APART static void copy_rows(const copy* c, const uint8_t* from, int32_t rows, uint8_t* to) {
  const int32_t columns = c->columns, pitch = c->pitch, row = c->row;
#if VIREO_MCU_MVE
  if (c->step == 1 && pitch <= 8 && row <= 8) { /* a vector is two rows of the band */
    const uint8x16_t all = vdupq_n_u8(c->flip), lane = vidupq_n_u8(0, 1);
    const mve_pred16_t second = (mve_pred16_t)~vctp8q((uint32_t)pitch);
    const uint8x16_t column = vsubq_m_n_u8(lane, lane, (uint8_t)pitch, second);
    const uint8x16_t at = vaddq_m_n_u8(column, column, (uint8_t)row, second);
    const mve_pred16_t in = vcmphiq_u8(vdupq_n_u8((uint8_t)columns), column) & vctp8q((uint32_t)(2 * pitch));
    for (; rows > 1; rows -= 2, from += 2 * row, to += 2 * pitch)
      vstrbq_p_u8(to, veorq_u8(vldrbq_gather_offset_z_u8(from, at, in), all), in);
    if (rows > 0) {
      const mve_pred16_t first = vctp8q((uint32_t)columns);
      vstrbq_p_u8(to, veorq_u8(vldrbq_z_u8(from, first), all), first);
    }
    return;
  }
  if (c->step == 1) {
    const uint8x16_t all = vdupq_n_u8(c->flip);
    const int32_t whole = columns & ~15;
    const mve_pred16_t in = vctp8q((uint32_t)(columns - whole));
    for (; rows > 0; --rows, from += row, to += pitch) {
      for (int32_t i = 0; i < whole; i += 16) vst1q_u8(to + i, veorq_u8(vld1q_u8(from + i), all));
      vstrbq_p_u8(to + whole, veorq_u8(vldrbq_z_u8(from + whole, in), all), in);
    }
    return;
  }
#endif
#if VIREO_MCU_LANES || defined(__ARM_FEATURE_UNALIGNED)
  if (c->step == 1 && columns >= 4) {
    const uint32_t flips = c->flip * 0x01010101u;
    const int32_t last = columns - 4;
    for (; rows > 0; --rows, from += row, to += pitch) { /* the last word of a row may repeat some of the one before */
      mcu_store(to, mcu_load(from) ^ flips);
      for (int32_t i = 4; i < last; i += 4) mcu_store(to + i, mcu_load(from + i) ^ flips);
      mcu_store(to + last, mcu_load(from + last) ^ flips);
    }
    return;
  }
#endif
  for (; rows > 0; --rows, from += row, to += pitch) {
    const uint8_t* x = from;
    for (int32_t i = 0; i < columns; ++i, x += c->step) to[i] = *x ^ c->flip;
  }
}

/* Any window. */
MCU_APART static void windows(const vireo_mcu_conv* c, const filter* f, const int8_t* band, int32_t pitch, int32_t rows,
                              uint8_t* y, int32_t y_step) {
  const int32_t down = c->dilation[0] * pitch, right = c->dilation[1], columns = c->kernel[1];
  for (int32_t i = 0; i < rows; ++i, band += c->stride[0] * pitch) {
    const int8_t* window = band;
    for (int32_t j = 0; j < c->out[1]; ++j, window += c->stride[1], y += y_step) {
      uint32_t sum = f->bias;
      const int16_t* tap = f->taps;
      const int8_t* line = window;
      for (int32_t ky = c->kernel[0]; ky > 0; --ky, line += down) {
        const int8_t* x = line;
        for (const int16_t* const end = tap + columns; tap != end; x += right) sum += (uint32_t)(*x * *tap++);
      }
      *y = (uint8_t)mcu_requantize_by((int32_t)sum, &f->by, &c->codes);
    }
  }
}

#if VIREO_MCU_MVE
/* Lanes of a vector lie `across` bytes apart in the band, what the loop goes along lies `along` bytes apart. */
typedef struct {
  int32_t lanes, across, steps, along, y_across, y_along;
  int16_t taps[9]; /* as [along, across] */
} direction;

/* 3x3, stride 1: four outputs at a time, the last ones maybe once more. A line of x ends a line of y, and is in two
 * that follow. rows: lanes are neighbours in a row, in x and y. some: there are fewer than four. */
MCU_INLINE void lines_3x3(const direction* d, const filter* f, const vireo_mcu_codes* all, const int8_t* band,
                          int8_t* y, int rows, int some) {
  const int32_t w0 = d->taps[0], w1 = d->taps[1], w2 = d->taps[2], w3 = d->taps[3], w4 = d->taps[4], w5 = d->taps[5];
  const int32_t w6 = d->taps[6], w7 = d->taps[7], w8 = d->taps[8];
  const int32_t last = some ? 0 : d->lanes - 4, across = rows ? 1 : d->across, along = d->along, y_along = d->y_along;
  const mve_pred16_t in = vctp32q((uint32_t)d->lanes);
  const uint32x4_t lane = vidupq_n_u32(0, 1);
  const uint32x4_t from = vmulq_n_u32(lane, (uint32_t)across), into = vmulq_n_u32(lane, (uint32_t)d->y_across);
  const vireo_mcu_codes codes = *all;
  const int32_t bias = (int32_t)f->bias, steps = d->steps;
  const float m = f->by.m;
#define LOAD(at) (rows ? vldrbq_s32(at) : vldrbq_gather_offset_s32(at, from))
#define LINE(sum, a, b, c) vmlaq_n_s32(vmlaq_n_s32(vmlaq_n_s32(sum, x0, a), x1, b), x2, c)
#define NEXT() x += along, x0 = LOAD(x), x1 = LOAD(x + across), x2 = LOAD(x + 2 * across)
  for (int32_t j = 0;;) {
    const int8_t* x = band + j * across - along;
    int8_t* to = y + j * d->y_across;
    int32x4_t x0, x1, x2;
    NEXT();
    int32x4_t s1 = LINE(vdupq_n_s32(bias), w0, w1, w2);
    NEXT();
    int32x4_t s2 = LINE(s1, w3, w4, w5);
    s1 = LINE(vdupq_n_s32(bias), w0, w1, w2);
    for (int32_t i = steps; i > 0; --i, to += y_along) {
      NEXT();
      const int32x4_t done = mcu_four_codes(LINE(s2, w6, w7, w8), m, &codes);
      if (rows) {
        vstrbq_s32(to, done);
      } else if (some) {
        vstrbq_scatter_offset_p_s32(to, into, done, in);
      } else {
        vstrbq_scatter_offset_s32(to, into, done);
      }
      s2 = LINE(s1, w3, w4, w5);
      s1 = LINE(vdupq_n_s32(bias), w0, w1, w2);
    }
    if (j >= last) break;
    j = j + 4 < last ? j + 4 : last;
  }
#undef LOAD
#undef LINE
#undef NEXT
}
MCU_APART static void lines_in_rows(const direction* d, const filter* f, const vireo_mcu_codes* c, const int8_t* band,
                                    int8_t* y) {
  lines_3x3(d, f, c, band, y, 1, 0);
}
MCU_APART static void lines_apart(const direction* d, const filter* f, const vireo_mcu_codes* c, const int8_t* band,
                                  int8_t* y) {
  lines_3x3(d, f, c, band, y, 0, 0);
}
MCU_APART static void few_lines(const direction* d, const filter* f, const vireo_mcu_codes* c, const int8_t* band,
                                int8_t* y) {
  lines_3x3(d, f, c, band, y, 0, 1);
}

/* 3x3, stride 1, two rows of the band in a vector: a sum is two products of 16, of which the zeros between taps leave
 * nine. Four rows of a column at a time, the last ones maybe once more. A vector is in two sums. pitch: 8 or 12. */
MCU_INLINE void columns(const vireo_mcu_conv* c, const filter* f, const int8_t* band, int32_t pitch, int32_t rows,
                        uint8_t* y, int32_t y_step) {
  static const uint8_t kBy8[16] = {0, 1, 2, 0, 0, 0, 0, 0, 3, 4, 5},
                       kBy12[16] = {0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 4, 5};
  const int8x16_t upper =
      vldrbq_gather_offset_z_s8(f->bytes, vld1q_u8(pitch == 8 ? kBy8 : kBy12), pitch == 8 ? 0x0707 : 0x7007);
  const int8x16_t lower = vldrbq_z_s8(f->bytes + 6, vctp8q(3));
  const int32_t y_row = c->out[1] * y_step, bias = (int32_t)f->bias, last = rows - 4;
  const uint32x4_t into = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)y_row);
  const vireo_mcu_codes codes = c->codes;
  const float m = f->by.m;
  for (const int8_t* const end = band + c->out[1]; band != end; ++band, y += y_step) {
    for (int32_t i = 0;;) {
      const int8_t* const x = band + i * pitch;
      int8x16_t u = vld1q_s8(x), v = vld1q_s8(x + 2 * pitch);
      const int32_t s0 = vmladavaq_s8(vmladavq_s8(u, upper), v, lower);
      u = vld1q_s8(x + 4 * pitch);
      const int32_t s2 = vmladavaq_s8(vmladavq_s8(v, upper), u, lower);
      u = vld1q_s8(x + pitch), v = vld1q_s8(x + 3 * pitch);
      const int32_t s1 = vmladavaq_s8(vmladavq_s8(u, upper), v, lower);
      u = vld1q_s8(x + 5 * pitch);
      const int32_t s3 = vmladavaq_s8(vmladavq_s8(v, upper), u, lower);
      const int32x4_t sums = vaddq_n_s32(mcu_vector(s0, s1, s2, s3), bias);
      vstrbq_scatter_offset_s32((int8_t*)y + i * y_row, into, mcu_four_codes(sums, m, &codes));
      if (i >= last) break;
      i = i + 4 < last ? i + 4 : last;
    }
  }
}
static int takes_columns(const vireo_mcu_conv* c, int32_t pitch) {
  return (pitch == 8 || pitch == 12) && c->kernel[0] == 3 && c->kernel[1] == 3 && (c->stride[0] | c->stride[1]) == 1 &&
         (c->dilation[0] | c->dilation[1]) == 1;
}
MCU_APART static void columns_by_8(const vireo_mcu_conv* c, const filter* f, const int8_t* band, int32_t rows,
                                   uint8_t* y, int32_t y_step) {
  columns(c, f, band, 8, rows, y, y_step);
}
MCU_APART static void columns_by_12(const vireo_mcu_conv* c, const filter* f, const int8_t* band, int32_t rows,
                                    uint8_t* y, int32_t y_step) {
  columns(c, f, band, 12, rows, y, y_step);
}

/* Along the axis that leaves fewer lanes unused. */
MCU_APART static void vectors_3x3(const vireo_mcu_conv* c, const filter* f, const int8_t* band, int32_t pitch,
                                  int32_t rows, uint8_t* y, int32_t y_step) {
  const int32_t columns = c->out[1], y_row = columns * y_step;
  const int down = (rows + 3) / 4 * columns < (columns + 3) / 4 * rows;
  direction d = {columns, 1, rows, pitch, y_step, y_row, {0}};
  if (down) d.lanes = rows, d.across = pitch, d.steps = columns, d.along = 1, d.y_across = y_row, d.y_along = y_step;
  for (int32_t k = 0; k < 9; ++k) d.taps[k] = f->taps[down ? k % 3 * 3 + k / 3 : k];
  if (d.lanes < 4) {
    few_lines(&d, f, &c->codes, band, (int8_t*)y);
  } else if (!down && y_step == 1) {
    lines_in_rows(&d, f, &c->codes, band, (int8_t*)y);
  } else {
    lines_apart(&d, f, &c->codes, band, (int8_t*)y);
  }
}
#endif

#if VIREO_MCU_LANES
/* 3x3, stride 1, at least two columns: down the rows, two columns at a time, the last ones maybe once more. A word is
 * four neighbours, x0 and x2 in one word of lanes, x1 and x3 in another: s = x0 w0 + x2 w2 + x1 w1 and
 * t = x1 w0 + x3 w2 + x2 w1 are two instructions each. A row of x ends a row of y, and is in two that follow. */
MCU_APART static void windows_3x3(const vireo_mcu_conv* c, const filter* f, const int8_t* band, int32_t pitch,
                                  int32_t rows, uint8_t* y, int32_t y_step) {
  const int16_t* const w = f->taps;
  const uint32_t outer_a = mcu_lows((uint16_t)w[0], (uint16_t)w[2]), outer_b = mcu_lows((uint16_t)w[3], (uint16_t)w[5]);
  const uint32_t outer_c = mcu_lows((uint16_t)w[6], (uint16_t)w[8]),
                 inner_ab = mcu_lows((uint16_t)w[1], (uint16_t)w[4]);
  const uint32_t inner_c = (uint16_t)w[7];
  const uint32_t flips = c->y_flip ? 0u : 0x80808080u, bias = f->bias;
  const uint32_t up = (uint32_t)(c->codes.zero + (c->y_flip ? 0 : 128)) * 0x00010001u;
  const int32_t last = c->out[1] - 2, y_row = c->out[1] * y_step;
  const mcu_multiplier m = f->by;
  const vireo_mcu_codes all = c->codes;
  for (int32_t j = 0;;) {
    const int8_t* x = band + j;
    uint8_t* to = y + j * y_step;
    uint32_t u = mcu_load(x), e = mcu_even(u), o = mcu_odd(u);
    uint32_t s1 = mcu_low_low(o, inner_ab, mcu_dot(e, outer_a, bias));
    uint32_t t1 = mcu_high_low(e, inner_ab, mcu_dot(o, outer_a, bias));
    x += pitch, u = mcu_load(x), e = mcu_even(u), o = mcu_odd(u);
    uint32_t s2 = mcu_low_high(o, inner_ab, mcu_dot(e, outer_b, s1));
    uint32_t t2 = mcu_high_high(e, inner_ab, mcu_dot(o, outer_b, t1));
    s1 = mcu_low_low(o, inner_ab, mcu_dot(e, outer_a, bias));
    t1 = mcu_high_low(e, inner_ab, mcu_dot(o, outer_a, bias));
    for (int32_t i = rows; i > 0; --i, to += y_row) {
      x += pitch, u = mcu_load(x), e = mcu_even(u), o = mcu_odd(u);
      s2 = mcu_low_low(o, inner_c, mcu_dot(e, outer_c, s2));
      t2 = mcu_high_low(e, inner_c, mcu_dot(o, outer_c, t2));
      const uint32_t codes = mcu_two_codes(s2, t2, &m, &m, &all, up) ^ flips;
      to[0] = (uint8_t)codes;
      to[y_step] = (uint8_t)(codes >> 16);
      s2 = mcu_low_high(o, inner_ab, mcu_dot(e, outer_b, s1));
      t2 = mcu_high_high(e, inner_ab, mcu_dot(o, outer_b, t1));
      s1 = mcu_low_low(o, inner_ab, mcu_dot(e, outer_a, bias));
      t1 = mcu_high_low(e, inner_ab, mcu_dot(o, outer_a, bias));
    }
    if (j >= last) break;
    j = j + 2 < last ? j + 2 : last;
  }
}

/* 3x3, stride 2 along a row: two columns at a time. */
MCU_APART static void windows_3x3_by_2(const vireo_mcu_conv* c, const filter* f, const int8_t* band, int32_t pitch,
                                       int32_t rows, uint8_t* y, int32_t y_step) {
  const int16_t* const w = f->taps;
  const uint32_t outer[3] = {mcu_lows((uint16_t)w[0], (uint16_t)w[2]), mcu_lows((uint16_t)w[3], (uint16_t)w[5]),
                             mcu_lows((uint16_t)w[6], (uint16_t)w[8])};
  const uint32_t flips = c->y_flip ? 0u : 0x80808080u;
  const uint32_t up = (uint32_t)(c->codes.zero + (c->y_flip ? 0 : 128)) * 0x00010001u;
  const int32_t columns = c->out[1];
  for (int32_t i = 0; i < rows; ++i) {
    const int8_t* r = band + pitch * c->stride[0] * i;
    for (int32_t j = 0; j < columns; j += 2, r += 4) {
      uint32_t s = f->bias, t = s;
      const int8_t* line = r;
      for (int32_t k = 0; k < 3; ++k, line += pitch) {
        const uint32_t u = mcu_load(line), e = mcu_even(u), o = mcu_odd(u), inner = (uint16_t)w[3 * k + 1];
        s = mcu_low_low(o, inner, mcu_dot(e, outer[k], s));
        t = mcu_high_low(o, inner, mcu_high_low(e, outer[k], t));
        t = mcu_low_high((uint32_t)(int32_t)line[4], outer[k], t);
      }
      const uint32_t codes = mcu_two_codes(s, t, &f->by, &f->by, &c->codes, up) ^ flips;
      *y = (uint8_t)codes;
      y += y_step;
      if (j + 1 < columns) {
        *y = (uint8_t)(codes >> 16);
        y += y_step;
      }
    }
  }
}
#else
#if defined(__thumb2__) && defined(__OPTIMIZE__) && !defined(__clang__)
#define SUM_TWO_HERE 1
/* Two neighbouring sums of nine products: of a row, four loads of x and one of three taps. */
#define SUM_ROW                                                                        \
  "ldmia %[k]!, {r4, r5, r6}\n ldrsb %[t], [%[x]]\n mla %[s0], %[t], r4, %[s0]\n"      \
  "ldrsb %[t], [%[x], #1]\n mla %[s0], %[t], r5, %[s0]\n mla %[s1], %[t], r4, %[s1]\n" \
  "ldrsb %[t], [%[x], #2]\n mla %[s0], %[t], r6, %[s0]\n mla %[s1], %[t], r5, %[s1]\n" \
  "ldrsb %[t], [%[x], #3]\n mla %[s1], %[t], r6, %[s1]\n add %[x], %[pitch]\n"
MCU_INLINE void sum_two(const int8_t* x, int32_t pitch, const int32_t* taps, uint32_t* sum_0, uint32_t* sum_1) {
  uint32_t s0 = *sum_0, s1 = *sum_1, t;
  __asm__(SUM_ROW SUM_ROW SUM_ROW
          : [s0] "+r"(s0), [s1] "+r"(s1), [x] "+r"(x), [k] "+r"(taps), [t] "=&r"(t)
          : [pitch] "r"(pitch)
          : "r4", "r5", "r6", "memory");
  *sum_0 = s0, *sum_1 = s1;
}
#else
#define SUM_TWO_HERE 0
#endif

/* 3x3, any stride: sums of nine products without a loop, of taps that are raised for the last step. */
MCU_APART static void windows_3x3(const vireo_mcu_conv* c, const filter* f, const int8_t* band, int32_t pitch,
                                  int32_t rows, uint8_t* y, int32_t y_step) {
  /* Copies: a store of a byte might change what lies behind a pointer. */
  const mcu_multiplier m = f->by;
  int32_t w[9];
  for (int i = 0; i < 9; ++i) w[i] = mcu_raise(f->taps[i], &m);
  const uint32_t bias = (uint32_t)mcu_raise((int32_t)f->bias, &m);
  const vireo_mcu_codes codes = c->codes;
  const int32_t columns = c->out[1], stride = c->stride[1], down = c->stride[0] * pitch;
  for (int32_t i = 0; i < rows; ++i, band += down) {
    const int8_t* x = band;
    int32_t j = columns;
#if SUM_TWO_HERE
    for (; stride == 1 && j >= 2; j -= 2, x += 2) {
      uint32_t s = bias, t = bias;
      sum_two(x, pitch, w, &s, &t);
      y[0] = (uint8_t)mcu_requantize_raised((int32_t)s, &m, &codes);
      y[y_step] = (uint8_t)mcu_requantize_raised((int32_t)t, &m, &codes);
      y += 2 * y_step;
    }
#endif
    for (; j > 0; --j, x += stride, y += y_step) {
      const int8_t *const b = x + pitch, *const d = b + pitch;
      uint32_t sum = bias + (uint32_t)(x[0] * w[0]) + (uint32_t)(x[1] * w[1]) + (uint32_t)(x[2] * w[2]);
      sum += (uint32_t)(b[0] * w[3]) + (uint32_t)(b[1] * w[4]) + (uint32_t)(b[2] * w[5]);
      sum += (uint32_t)(d[0] * w[6]) + (uint32_t)(d[1] * w[7]) + (uint32_t)(d[2] * w[8]);
      *y = (uint8_t)mcu_requantize_raised((int32_t)sum, &m, &codes);
    }
  }
}
#endif

/* The fastest that serves. By calls of known functions: who adds up stacks sees through them. */
static void run_windows(const vireo_mcu_conv* c, const filter* f, const int8_t* band, int32_t pitch, int32_t rows,
                        uint8_t* y, int32_t y_step) {
  if (c->kernel[0] == 3 && c->kernel[1] == 3 && c->dilation[0] == 1 && c->dilation[1] == 1) {
#if VIREO_MCU_MVE
    if (c->stride[0] == 1 && c->stride[1] == 1) {
      if (f->bytes != NULL) {
        if (pitch == 8) {
          columns_by_8(c, f, band, rows, y, y_step);
        } else {
          columns_by_12(c, f, band, rows, y, y_step);
        }
      } else {
        vectors_3x3(c, f, band, pitch, rows, y, y_step);
      }
      return;
    }
#endif
#if VIREO_MCU_LANES
    if (c->codes.high - c->codes.low == 255) {
      if (c->stride[1] == 2) {
        windows_3x3_by_2(c, f, band, pitch, rows, y, y_step);
        return;
      }
      if (c->stride[0] == 1 && c->stride[1] == 1 && c->out[1] >= 2) {
        windows_3x3(c, f, band, pitch, rows, y, y_step);
        return;
      }
    }
#else
    windows_3x3(c, f, band, pitch, rows, y, y_step);
    return;
#endif
  }
  windows(c, f, band, pitch, rows, y, y_step);
}

uint32_t vireo_mcu_depthwise_units(const vireo_mcu_conv* c) {
  const strip s = strip_of(c);
  return (uint32_t)mcu_divide(c->out[0] + s.rows - 1, s.rows) * (uint32_t)(c->batch * c->groups);
}

void vireo_mcu_depthwise_run_units(const vireo_mcu_conv* c, const uint8_t* x, const uint8_t* w, const float* m,
                                   const int32_t* bias, const int8_t* w_zero, uint8_t* y, void* scratch,
                                   vireo_mcu_units units) {
  const strip s = strip_of(c);
  const int32_t taps = c->kernel[0] * c->kernel[1], in_plane = c->in[0] * c->in[1], out_plane = c->out[0] * c->out[1];
  const int32_t all_in = c->groups, all_out = c->groups * c->out_channels;
  const int32_t x_step = c->last ? all_in : 1, y_step = c->last ? all_out : 1;
  const int32_t zero = (int8_t)(uint8_t)(c->x_zero ^ c->x_flip);
  const copy rows_of = {x_step, c->in[1] * x_step, s.columns, s.pitch, c->x_flip};
  int16_t* const wide = (int16_t*)scratch;
  uint8_t* const band = (uint8_t*)scratch + taps_bytes(c);
  /* Columns beside the plane keep the zero point; so do rows above and below where one strip is the whole plane. */
  memset(band, zero, band_bytes(&s));
  uint32_t unit = 0;
  for (int32_t image = 0; image < c->batch; ++image) {
    for (int32_t g = 0; g < c->groups; ++g) {
      const uint8_t* const plane = x + (c->last ? g : g * in_plane);
      for (int32_t row = 0; row < c->out[0]; row += s.rows, ++unit) {
        if (unit < units.from) continue;
        if (unit >= units.to) return;
        const int32_t rows = c->out[0] - row < s.rows ? c->out[0] - row : s.rows;
        const int32_t top = row * c->stride[0] - c->pad[0];
        /* Rows of the band that lie in x. */
        const int32_t above = top < 0 ? -top : 0, below = c->in[0] - top;
        const int32_t from = above < s.band_rows ? above : s.band_rows;
        const int32_t end = below < 0 ? 0 : below < s.band_rows ? below : s.band_rows;
        if (s.rows < c->out[0]) {
          if (from > 0) memset(band, zero, (uint32_t)(from * s.pitch));
          if (end < s.band_rows) memset(band + end * s.pitch, zero, (uint32_t)((s.band_rows - end) * s.pitch));
        }
        if (from < end)
          copy_rows(&rows_of, plane + (top + from) * rows_of.row, end - from, band + from * s.pitch + c->pad[1]);
        for (int32_t o = 0; o < c->out_channels; ++o) {
          const int32_t channel = g * c->out_channels + o;
          const int32_t w_z = w_zero != NULL ? w_zero[c->one_w_zero ? 0 : channel] : 0;
          filter f;
          f.taps = wide;
          f.bias = bias != NULL ? (uint32_t)bias[channel] : 0;
          mcu_make_ready(&f.by, m[c->one_multiplier ? 0 : channel], mcu_most(taps, w_zero != NULL, (int32_t)f.bias),
                         &c->codes);
          int32_t sum = 0;
#if VIREO_MCU_MVE
          f.bytes = w_zero == NULL && rows >= 4 && takes_columns(c, s.pitch) ? (const int8_t*)w + channel * taps : NULL;
          if (f.bytes != NULL) sum = vaddvq_s8(vldrbq_z_s8(f.bytes, vctp8q(9)));
          const int widened = f.bytes == NULL;
#else
          const int widened = 1;
#endif
          for (int32_t k = 0; widened && k < taps; ++k) {
            const int32_t tap = (int8_t)w[channel * taps + k] - w_z;
            wide[k] = (int16_t)tap;
            sum += tap;
          }
          f.bias -= (uint32_t)(sum * zero);
          uint8_t* const to =
              c->last ? y + row * c->out[1] * all_out + channel : y + channel * out_plane + row * c->out[1];
          run_windows(c, &f, (const int8_t*)band, s.pitch, rows, to, y_step);
        }
      }
    }
    x += all_in * in_plane;
    y += all_out * out_plane;
  }
}
