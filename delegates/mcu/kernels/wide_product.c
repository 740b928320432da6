/* Sums of products of 16-bit codes with weights of 8 bits. Tiles and loops are those of product.c: in blocks of
 * products whose sums stay in 32 bits, their totals in 64. */
#include <stddef.h>
#include <string.h>

#include "delegates/mcu/kernels/lanes.h"
#include "delegates/mcu/kernels/product.h"
#include "delegates/mcu/kernels/tile_sums.h"
#include "delegates/mcu/kernels/wide.h"

#define TILE VIREO_MCU_TILE

enum {
  kBlockBytes = 2048,
  kMostTiles = 16,
  kBandElements = 1024,
  kBlock = 256, /* products of 32768 * 255 in 31 bits */
};

typedef struct {
  int32_t k, padded; /* padded: a multiple of 4 */
  int32_t channels, positions, tiles;
  const int8_t* w;
  int32_t w_channel, w_k;
  const float* m;
  const int32_t* bias;
  const int8_t* w_zero;
  int32_t x_zero; /* of the numbers in tiles */
  vireo_mcu_codes codes;
  uint8_t one_multiplier, one_w_zero, y_type;
  void* y;
  int32_t y_first, y_channel, y_position;
  int16_t *x_tiles, *w_pair;
} product;

static int32_t padded_k(int32_t k) { return (k + 3) & ~3; }
static int32_t tiles_of(int32_t padded, int32_t positions, int32_t tile) {
  int32_t tiles = mcu_divide(kBlockBytes, 2 * tile * padded);
  const int32_t needed = mcu_divide(positions + tile - 1, tile);
  tiles = tiles < 2 ? 2 : tiles > kMostTiles ? kMostTiles : tiles;
  return tiles < needed ? tiles : needed;
}
static uint32_t scratch_bytes(int32_t k, int32_t positions, int32_t tile) {
  const int32_t padded = padded_k(k);
  return (uint32_t)(2 * padded * (tiles_of(padded, positions, tile) * tile + 2));
}
/* Element k of a column of `width` (product.c). For vectors, 8 of each column lie behind one another, of a last piece
 * 4. */
MCU_INLINE int32_t place(int32_t padded, int32_t k, int32_t column, int32_t width) {
  (void)padded;
#if VIREO_MCU_MVE
  const int32_t first = k & ~7;
  return first * width + column * (padded - first < 8 ? 4 : 8) + (k & 7);
#elif VIREO_MCU_LANES
  return (k & ~3) * width + (k & 1) * 2 * width + 2 * column + ((k >> 1) & 1);
#else
  return k * width + column;
#endif
}

/* A code as a number of 16 bits: an unsigned one of 16 bits 32768 lower. */
static int32_t lower_of(uint8_t type) { return type == VIREO_MCU_U16 ? 32768 : 0; }

/* A filter's weights less their zero point; their sum. */
static int32_t widen_filter(const product* p, int32_t c, int32_t column) {
  const int32_t zero = p->w_zero != NULL ? p->w_zero[p->one_w_zero ? 0 : c] : 0, step = p->w_k;
  const int8_t* from = p->w + c * p->w_channel;
  int32_t sum = 0, k = 0;
  for (; k < p->k; ++k, from += step) {
    const int32_t w = *from - zero;
    p->w_pair[place(p->padded, k, column, 2)] = (int16_t)w;
    sum += w;
  }
  for (; k < p->padded; ++k) p->w_pair[place(p->padded, k, column, 2)] = 0;
  return sum;
}

#if VIREO_MCU_LANES
/* Both filters of a pair, as they lie, where nobody asks for their sums. */
static void widen_plain(const product* p, int32_t c, int32_t d) {
  const int8_t *u = p->w + c * p->w_channel, *v = p->w + d * p->w_channel;
#if VIREO_MCU_MVE
  int16_t* to = p->w_pair;
  for (int32_t k = p->k; k > 0; k -= 8, u += 8, v += 8, to += 16) {
    const mve_pred16_t in = vctp16q((uint32_t)k);
    vstrhq_p_s16(to, vldrbq_z_s16(u, in), in);
    vstrhq_p_s16(to + (k < 8 ? 4 : 8), vldrbq_z_s16(v, in), in);
  }
#else
  uint32_t* out = (uint32_t*)(void*)p->w_pair;
  for (const int8_t* const end = u + p->k; u != end; u += 4, v += 4, out += 4) {
    const uint32_t a = mcu_load(u), b = mcu_load(v);
    out[0] = mcu_even(a), out[1] = mcu_even(b), out[2] = mcu_odd(a), out[3] = mcu_odd(b);
  }
#endif
}
#endif

#if VIREO_MCU_MVE
/* Four positions by two channels: 15 instructions for 64 products, of which the first 14 begin the sums. They have to
 * be in even registers, of which there are eight: none is left for a loop's counter. */
#if defined(__OPTIMIZE__)
#define DOTS(dot)                                                                                                  \
  "vldrh.u16 q0, [%[w]], #16\n vldrh.u16 q1, [%[w]], #16\n vldrh.u16 q2, [%[x]], #16\n" dot " %[a0], q2, q0\n" dot \
  " %[b0], q2, q1\n vldrh.u16 q3, [%[x]], #16\n" dot " %[a1], q3, q0\n" dot                                        \
  " %[b1], q3, q1\n vldrh.u16 q2, [%[x]], #16\n" dot " %[a2], q2, q0\n" dot                                        \
  " %[b2], q2, q1\n vldrh.u16 q3, [%[x]], #16\n" dot " %[a3], q3, q0\n" dot " %[b3], q3, q1\n cmp %[w], %[end]\n"
#define SUM_8S(end_)                                                                                      \
  __asm__ volatile(DOTS("vmladav.s16") "beq 2f\n 1:\n" DOTS("vmladava.s16") "bne 1b\n 2:\n"               \
                   : [a0] "=&Te"(a0), [a1] "=&Te"(a1), [a2] "=&Te"(a2), [a3] "=&Te"(a3), [b0] "=&Te"(b0), \
                     [b1] "=&Te"(b1), [b2] "=&Te"(b2), [b3] "=&Te"(b3), [x] "+r"(x), [w] "+r"(w)          \
                   : [end] "r"(end_)                                                                      \
                   : "cc", "memory", "q0", "q1", "q2", "q3")
#else
#define SUM_8S(end_)                         \
  a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0; \
  for (; w != (end_); w += 16, x += 32)      \
  SUM_8(vld1q_s16(w), vld1q_s16(w + 8), vld1q_s16(x), vld1q_s16(x + 8), vld1q_s16(x + 16), vld1q_s16(x + 24))
#endif
#define SUM_8(wu_, wv_, x0_, x1_, x2_, x3_)                         \
  do {                                                              \
    const int16x8_t wu = (wu_), wv = (wv_);                         \
    int16x8_t xs = (x0_);                                           \
    a0 = vmladavaq_s16(a0, xs, wu), b0 = vmladavaq_s16(b0, xs, wv); \
    xs = (x1_);                                                     \
    a1 = vmladavaq_s16(a1, xs, wu), b1 = vmladavaq_s16(b1, xs, wv); \
    xs = (x2_);                                                     \
    a2 = vmladavaq_s16(a2, xs, wu), b2 = vmladavaq_s16(b2, xs, wv); \
    xs = (x3_);                                                     \
    a3 = vmladavaq_s16(a3, xs, wu), b3 = vmladavaq_s16(b3, xs, wv); \
  } while (0)

/* Sums of `count` products of a tile and both channels, of the first's four positions and of the second's. */
MCU_INLINE void sum_vectors(const int16_t* x, const int16_t* w, int32_t count, int32x4_t* of_c, int32x4_t* of_d) {
  int32_t a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
  if (count >= 8) SUM_8S(w + 2 * (count & ~7));
  if ((count & 4) != 0) {
    const mve_pred16_t in = vctp16q(4);
    SUM_8(vldrhq_z_s16(w, in), vldrhq_z_s16(w + 4, in), vldrhq_z_s16(x, in), vldrhq_z_s16(x + 4, in),
          vldrhq_z_s16(x + 8, in), vldrhq_z_s16(x + 12, in));
  }
  *of_c = mcu_vector(a0, a1, a2, a3);
  *of_d = mcu_vector(b0, b1, b2, b3);
}

/* Four codes of sums that stay in 32 bits. Rounded numbers saturate, and so does the zero point behind them. */
MCU_INLINE int32x4_t codes_of(int32x4_t sums, float m, const vireo_mcu_codes* codes) {
  int32x4_t r = vcvtnq_s32_f32(vmulq_n_f32(vcvtq_f32_s32(sums), m));
  r = vqaddq_n_s32(r, codes->zero);
  return vminq_s32(vmaxq_s32(r, vdupq_n_s32(codes->low)), vdupq_n_s32(codes->high));
}
#endif

/* Sums of `count` products of a tile and both channels, from what they begin with: [channel][position]. */
MCU_INLINE void sum_block(const int16_t* tile, const int16_t* w_pair, int32_t count, uint32_t bias_c, uint32_t bias_d,
                          uint32_t* sums) {
#if VIREO_MCU_MVE
  int32x4_t of_c, of_d;
  sum_vectors(tile, w_pair, count, &of_c, &of_d);
  vst1q_s32((int32_t*)sums, vaddq_n_s32(of_c, (int32_t)bias_c));
  vst1q_s32((int32_t*)sums + 4, vaddq_n_s32(of_d, (int32_t)bias_d));
#elif VIREO_MCU_LANES
  const uint32_t *xp = (const uint32_t*)(const void*)tile, *wp = (const uint32_t*)(const void*)w_pair;
  uint32_t a0 = bias_c, a1 = a0, a2 = a0, a3 = a0, b0 = bias_d, b1 = b0, b2 = b0, b3 = b0;
  const int32_t steps = count >> 2;
  SUM_TILE(xp, wp, steps);
  sums[0] = a0, sums[1] = a1, sums[2] = a2, sums[3] = a3, sums[4] = b0, sums[5] = b1, sums[6] = b2, sums[7] = b3;
#else
  const int16_t *xp = tile, *wp = w_pair;
#if TILE == 4
  uint32_t a0 = bias_c, a1 = a0, a2 = a0, a3 = a0, b0 = bias_d, b1 = b0, b2 = b0, b3 = b0;
#else
  uint32_t a0 = bias_c, a1 = a0, b0 = bias_d, b1 = b0;
#endif
  for (const int16_t* const end = wp + 2 * count; wp != end; wp += 2, xp += TILE) SUM_STEP(xp, wp[0], wp[1]);
#if TILE == 4
  sums[0] = a0, sums[1] = a1, sums[2] = a2, sums[3] = a3, sums[4] = b0, sums[5] = b1, sums[6] = b2, sums[7] = b3;
#else
  sums[0] = a0, sums[1] = a1, sums[2] = b0, sums[3] = b1;
#endif
#endif
}

/* A code of a sum of 32 bits. */
MCU_INLINE int32_t code_of(int32_t sum, float m, const vireo_mcu_codes* codes) {
#if VIREO_MCU_FPU
  return mcu_to_code(mcu_round((float)sum * m), codes);
#else
  return vireo_mcu_requantize_wide(sum, m, codes);
#endif
}

static void multiply_pair(const product* p, int32_t c, int32_t first, int32_t tiles) {
  const int32_t d = c + 1 < p->channels ? c + 1 : c, k = p->padded;
  int64_t begin[2], totals[2 * TILE];
  uint32_t sums[2 * TILE];
#if VIREO_MCU_LANES
  if (p->x_zero == 0 && p->w_zero == NULL && p->w_k == 1 && p->k == p->padded) {
    widen_plain(p, c, d);
    begin[0] = p->bias != NULL ? p->bias[c] : 0;
    begin[1] = p->bias != NULL ? p->bias[d] : 0;
  } else
#endif
  {
    begin[0] = (p->bias != NULL ? p->bias[c] : 0) - (int64_t)widen_filter(p, c, 0) * p->x_zero;
    begin[1] = (p->bias != NULL ? p->bias[d] : 0) - (int64_t)widen_filter(p, d, 1) * p->x_zero;
  }
  /* Whether all sums stay in 32 bits with what they begin with. */
  const int64_t most = (int64_t)k * 32768 * (p->w_zero != NULL ? 255 : 128), room = INT32_MAX - most;
  const int narrow = k <= kBlock && begin[0] <= room && begin[0] >= -room && begin[1] <= room && begin[1] >= -room;
  const int32_t step = p->y_position, to_d = d * p->y_channel - c * p->y_channel;
  const float mc = p->m[p->one_multiplier ? 0 : c], md = p->m[p->one_multiplier ? 0 : d];
  const vireo_mcu_codes codes = p->codes;
  const int16_t* tile = p->x_tiles;
  for (int32_t position = first; tiles > 0; --tiles, position += TILE, tile += TILE * k) {
    const int32_t count = p->positions - position < TILE ? p->positions - position : TILE;
    int32_t at = p->y_first + c * p->y_channel + position * step;
#if VIREO_MCU_MVE
    if (narrow && step == 1 && p->y_type >= VIREO_MCU_I16) {
      int32x4_t of_c, of_d;
      const mve_pred16_t some = vctp32q((uint32_t)count);
      sum_vectors(tile, p->w_pair, k, &of_c, &of_d);
      int16_t* const to = (int16_t*)p->y + at;
      vstrhq_p_s32(to, codes_of(vaddq_n_s32(of_c, (int32_t)begin[0]), mc, &codes), some);
      vstrhq_p_s32(to + to_d, codes_of(vaddq_n_s32(of_d, (int32_t)begin[1]), md, &codes), some);
      continue;
    }
#endif
    if (narrow) {
      sum_block(tile, p->w_pair, k, (uint32_t)begin[0], (uint32_t)begin[1], sums);
      for (int32_t n = 0; n < count; ++n, at += step) {
        mcu_put_code(p->y, at, p->y_type, code_of((int32_t)sums[n], mc, &codes));
        mcu_put_code(p->y, at + to_d, p->y_type, code_of((int32_t)sums[TILE + n], md, &codes));
      }
      continue;
    }
    for (int i = 0; i < TILE; ++i) totals[i] = begin[0], totals[TILE + i] = begin[1];
    for (int32_t i = 0; i < k; i += kBlock) {
      sum_block(tile + i * TILE, p->w_pair + i * 2, k - i < kBlock ? k - i : kBlock, 0, 0, sums);
      for (int n = 0; n < 2 * TILE; ++n) totals[n] += (int32_t)sums[n];
    }
    for (int32_t n = 0; n < count; ++n, at += step) {
      mcu_put_code(p->y, at, p->y_type, vireo_mcu_requantize_wide(totals[n], mc, &codes));
      mcu_put_code(p->y, at + to_d, p->y_type, vireo_mcu_requantize_wide(totals[TILE + n], md, &codes));
    }
  }
}

/* Where tiles come from: windows of x, or rows of a matrix. */
typedef struct {
  const vireo_mcu_conv_wide* conv;
  const void* x;
  int32_t x_first; /* of the group */
  uint8_t type;
} source;

#if VIREO_MCU_LANES
/* Windows of one element, signed codes: four neighbours of four channels at a time. */
static void fill_points(const int16_t* x, int32_t plane, int32_t k, int16_t* tile) {
#if VIREO_MCU_MVE
  const uint16x8_t offsets = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)plane);
  for (; k > 0; k -= 8, x += 8 * plane) {
    const mve_pred16_t in = vctp16q((uint32_t)k);
    for (int i = 0; i < TILE; ++i, tile += k < 8 ? 4 : 8)
      vstrhq_p_s16(tile, vldrhq_gather_shifted_offset_z_s16(x + i, offsets, in), in);
  }
#else
  uint32_t* out = (uint32_t*)(void*)tile;
  for (; k > 0; k -= 4, x += 4 * plane, out += 8) {
    for (int i = 0; i < 2; ++i) {
      const int16_t *const u = x + i * plane, *const v = u + 2 * plane;
      const uint32_t u0 = mcu_load(u), u1 = mcu_load(u + 2), v0 = mcu_load(v), v1 = mcu_load(v + 2);
      uint32_t* const to = out + 4 * i;
      to[0] = mcu_lows(u0, v0), to[1] = mcu_highs(u0, v0), to[2] = mcu_lows(u1, v1), to[3] = mcu_highs(u1, v1);
    }
  }
#endif
}
static int is_point(const vireo_mcu_conv_wide* c) {
  return c->kernel[0] * c->kernel[1] == 1 && (c->stride[0] | c->stride[1]) == 1 && (c->pad[0] | c->pad[1]) == 0 &&
         c->in[0] == c->out[0] && c->in[1] == c->out[1] && (!VIREO_MCU_MVE || 7 * c->in[0] * c->in[1] <= 65535);
}
#endif

static void fill_tile(const product* p, const source* s, int32_t first, int16_t* tile) {
  const vireo_mcu_conv_wide* const c = s->conv;
#if VIREO_MCU_LANES
  if (c != NULL && s->type == VIREO_MCU_I16 && p->k == p->padded && first + TILE <= p->positions && is_point(c)) {
    fill_points((const int16_t*)s->x + s->x_first + first, p->positions, p->k, tile);
    return;
  }
#endif
  const int32_t lower = lower_of(s->type), padding = p->x_zero;
  for (int32_t i = 0; i < TILE; ++i) {
    const int32_t position = first + i < p->positions ? first + i : p->positions - 1;
    int32_t k = 0;
    if (c == NULL) {
      for (; k < p->k; ++k)
        tile[place(p->padded, k, i, TILE)] = (int16_t)(mcu_code_at(s->x, position * p->k + k, s->type) - lower);
    } else {
      const int32_t oy = mcu_divide(position, c->out[1]), ox = position - oy * c->out[1];
      const int32_t top = oy * c->stride[0] - c->pad[0], left = ox * c->stride[1] - c->pad[1];
      for (int32_t channel = 0; channel < c->in_channels; ++channel) {
        const int32_t plane = s->x_first + channel * c->in[0] * c->in[1];
        for (int32_t ky = 0, iy = top; ky < c->kernel[0]; ++ky, iy += c->dilation[0]) {
          const int inside = iy >= 0 && iy < c->in[0];
          for (int32_t kx = 0, ix = left; kx < c->kernel[1]; ++kx, ix += c->dilation[1], ++k)
            tile[place(p->padded, k, i, TILE)] =
                (int16_t)(inside && ix >= 0 && ix < c->in[1]
                              ? mcu_code_at(s->x, plane + iy * c->in[1] + ix, s->type) - lower
                              : padding);
        }
      }
    }
    for (; k < p->padded; ++k) tile[place(p->padded, k, i, TILE)] = 0;
  }
}

/* Units of one product. unit: its first. */
static void run_blocks(const product* p, const source* s, uint32_t unit, vireo_mcu_units units) {
  for (int32_t first = 0; first < p->positions; first += p->tiles * TILE) {
    const int32_t left = mcu_divide(p->positions - first + TILE - 1, TILE), tiles = left < p->tiles ? left : p->tiles;
    for (int32_t t = 0; t < tiles; ++t, ++unit) {
      if (unit >= units.from && unit < units.to) fill_tile(p, s, first + t * TILE, p->x_tiles + t * TILE * p->padded);
    }
    for (int32_t c = 0; c < p->channels; c += 2, ++unit) {
      if (unit >= units.from && unit < units.to) multiply_pair(p, c, first, tiles);
    }
  }
}

/* ---- Filters of one channel: windows over a plane that lies with its padding in scratch memory */

static int slides(const vireo_mcu_conv_wide* c) {
  return c->in_channels == 1 && c->out_channels == 1 && c->kernel[0] * c->kernel[1] <= 32; /* sums of 31 bits */
}
static int32_t span(const vireo_mcu_conv_wide* c, int axis, int32_t outputs) {
  return (outputs - 1) * c->stride[axis] + (c->kernel[axis] - 1) * c->dilation[axis] + 1;
}
static int32_t rows_of(const vireo_mcu_conv_wide* c) { /* of y in a strip */
  const int32_t pitch = span(c, 1, c->out[1]);
  int32_t rows = c->out[0];
  while (rows > 1 && span(c, 0, rows) * pitch > kBandElements) rows = (rows + 1) / 2;
  return rows;
}

#if VIREO_MCU_MVE
/* 3 x 3 at stride 1, four columns at a time: a row of x ends a row of y, and is in two that follow. */
#define LINE(to, from, u, v, w_) \
  to = vmlaq_n_s32(from, x0, u), to = vmlaq_n_s32(to, x1, v), to = vmlaq_n_s32(to, x2, w_)
#define NEXT_ROW() x0 = vldrhq_z_s32(x, in), x1 = vldrhq_z_s32(x + 1, in), x2 = vldrhq_z_s32(x + 2, in), x += pitch
MCU_APART static void slide_vectors(const int16_t* w, int32_t bias, float m, const vireo_mcu_codes* codes,
                                    const int16_t* band, int32_t pitch, int32_t rows, int32_t columns, int16_t* y) {
  const int32_t w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6], w7 = w[7], w8 = w[8];
  const int32x4_t biases = vdupq_n_s32(bias);
  for (; columns > 0; columns -= 4, band += 4, y += 4) {
    const mve_pred16_t in = vctp32q((uint32_t)columns);
    const int16_t* x = band;
    int16_t* to = y;
    int32x4_t x0, x1, x2, first, second, whole;
    NEXT_ROW();
    LINE(first, biases, w0, w1, w2);
    NEXT_ROW();
    LINE(second, first, w3, w4, w5);
    LINE(first, biases, w0, w1, w2);
    for (int32_t i = rows; i > 0; --i, to += pitch - 2) {
      NEXT_ROW();
      LINE(whole, second, w6, w7, w8);
      vstrhq_p_s32(to, codes_of(whole, m, codes), in);
      LINE(second, first, w3, w4, w5);
      LINE(first, biases, w0, w1, w2);
    }
  }
}
#undef LINE
#undef NEXT_ROW
#endif

/* Down a column of y; 3 x 3 at stride 1 without a loop. */
MCU_APART static void slide(const vireo_mcu_conv_wide* c, const int16_t* w, int64_t begin, float m, const int16_t* band,
                            int32_t pitch, int32_t rows, void* y, int32_t at) {
  /* Whether sums stay in 32 bits with what they begin with. */
  const int narrow = begin <= INT32_MAX / 2 && begin >= -(INT32_MAX / 2);
  const int32_t bias = narrow ? (int32_t)begin : 0;
  const vireo_mcu_codes codes = c->codes;
  const int32_t columns = c->out[1];
  const uint8_t type = c->y_type;
#if VIREO_MCU_MVE
  if (narrow && type >= VIREO_MCU_I16 && c->kernel[0] == 3 && c->kernel[1] == 3 &&
      (c->stride[0] | c->stride[1] | c->dilation[0] | c->dilation[1]) == 1) {
    slide_vectors(w, bias, m, &codes, band, pitch, rows, columns, (int16_t*)y + at);
    return;
  }
  if (narrow && type >= VIREO_MCU_I16 && c->stride[1] == 1) {
    const int32_t below = c->dilation[0] * pitch;
    int16_t* to = (int16_t*)y + at;
    for (int32_t i = 0; i < rows; ++i, band += c->stride[0] * pitch, to += columns) {
      for (int32_t j = 0; j < columns; j += 4) { /* four neighbours */
        const mve_pred16_t some = vctp32q((uint32_t)(columns - j));
        const int16_t *tap = w, *line = band + j;
        int32x4_t sums = vdupq_n_s32(bias);
        for (int32_t ky = c->kernel[0]; ky > 0; --ky, line += below) {
          const int16_t* x = line;
          for (int32_t kx = c->kernel[1]; kx > 0; --kx, x += c->dilation[1])
            sums = vmlaq_n_s32(sums, vldrhq_z_s32(x, some), *tap++);
        }
        vstrhq_p_s32(to + j, codes_of(sums, m, &codes), some);
      }
    }
    return;
  }
#endif
  if (narrow && c->kernel[0] == 3 && c->kernel[1] == 3 &&
      (c->stride[0] | c->stride[1] | c->dilation[0] | c->dilation[1]) == 1) {
    const int32_t w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6], w7 = w[7], w8 = w[8];
    for (int32_t j = 0; j < columns; ++j, ++at) {
      const int16_t* x = band + j;
      int32_t a = x[0], b = x[1], d = x[2], to = at;
      int32_t s1 = bias + a * w0 + b * w1 + d * w2;
      x += pitch, a = x[0], b = x[1], d = x[2];
      int32_t s2 = s1 + a * w3 + b * w4 + d * w5;
      s1 = bias + a * w0 + b * w1 + d * w2;
      for (int32_t i = rows; i > 0; --i, to += columns) {
        x += pitch, a = x[0], b = x[1], d = x[2];
        mcu_put_code(y, to, type, code_of(s2 + a * w6 + b * w7 + d * w8, m, &codes));
        s2 = s1 + a * w3 + b * w4 + d * w5;
        s1 = bias + a * w0 + b * w1 + d * w2;
      }
    }
    return;
  }
  for (int32_t i = 0; i < rows; ++i, band += c->stride[0] * pitch) {
    for (int32_t j = 0; j < columns; ++j, ++at) {
      const int16_t *tap = w, *line = band + j * c->stride[1];
      int32_t sum = bias;
      for (int32_t ky = c->kernel[0]; ky > 0; --ky, line += c->dilation[0] * pitch) {
        const int16_t* x = line;
        for (int32_t kx = c->kernel[1]; kx > 0; --kx, x += c->dilation[1]) sum += *x * *tap++;
      }
      mcu_put_code(y, at, type, narrow ? code_of(sum, m, &codes) : vireo_mcu_requantize_wide(begin + sum, m, &codes));
    }
  }
}

static void run_sliding(const vireo_mcu_conv_wide* c, const void* x, const int8_t* w, const float* m,
                        const int32_t* bias, const int8_t* w_zero, void* y, void* scratch, vireo_mcu_units units) {
  const int32_t taps = c->kernel[0] * c->kernel[1], plane = c->in[0] * c->in[1], rows = rows_of(c);
  const int32_t pitch = span(c, 1, c->out[1]), lower = lower_of(c->x_type), zero = c->x_zero - lower;
  int16_t *const wide = (int16_t*)scratch, *const band = wide + 32;
  uint32_t unit = 0;
  for (int32_t n = 0; n < c->batch * c->groups; ++n) {
    const int32_t channel = n - mcu_divide(n, c->groups) * c->groups;
    for (int32_t row = 0; row < c->out[0]; row += rows, ++unit) {
      if (unit < units.from) continue;
      if (unit >= units.to) return;
      const int32_t count = c->out[0] - row < rows ? c->out[0] - row : rows,
                    w_z = w_zero != NULL ? w_zero[c->one_w_zero ? 0 : channel] : 0;
      int32_t sum = 0;
      for (int32_t t = 0; t < taps; ++t) {
        wide[t] = (int16_t)(w[channel * taps + t] - w_z);
        sum += wide[t];
      }
      int16_t* to = band;
      int32_t iy = row * c->stride[0] - c->pad[0];
      for (int32_t i = span(c, 0, count); i > 0; --i, ++iy, to += pitch) {
        /* Columns [first, last) are in x. */
        const int inside = iy >= 0 && iy < c->in[0];
        const int32_t first = c->pad[1] < pitch ? c->pad[1] : pitch, most = c->in[1] + c->pad[1];
        const int32_t last = inside ? most < pitch ? most : pitch : 0, from = n * plane + iy * c->in[1] - c->pad[1];
        int32_t j = 0;
#if VIREO_MCU_MVE
        if (c->x_type == VIREO_MCU_I16) {
          const int16x8_t zeros = vdupq_n_s16((int16_t)zero);
          for (; j < pitch; j += 8) {
            const uint32_t before = first > j ? (uint32_t)(first - j) : 0, end = last > j ? (uint32_t)(last - j) : 0;
            const mve_pred16_t in = vctp16q(end) & (mve_pred16_t)~vctp16q(before);
            const int16x8_t v = vldrhq_z_s16((const int16_t*)x + from + j, in);
            vstrhq_p_s16(to + j, vpselq_s16(v, zeros, in), vctp16q((uint32_t)(pitch - j)));
          }
          continue;
        }
#endif
        for (; j < first; ++j) to[j] = (int16_t)zero;
        if (c->x_type == VIREO_MCU_I16 && last > first) {
          memcpy(to + j, (const int16_t*)x + from + j, (uint32_t)(last - first) * 2);
          j = last;
        }
        for (; j < last; ++j) to[j] = (int16_t)(mcu_code_at(x, from + j, c->x_type) - lower);
        for (; j < pitch; ++j) to[j] = (int16_t)zero;
      }
      const int64_t begin = (bias != NULL ? bias[channel] : 0) - (int64_t)sum * zero;
      slide(c, wide, begin, m[c->one_multiplier ? 0 : channel], band, pitch, count, y,
            n * c->out[0] * c->out[1] + row * c->out[1]);
    }
  }
}

static void lay_out(product* p, void* scratch) {
  p->padded = padded_k(p->k);
  p->tiles = tiles_of(p->padded, p->positions, TILE);
  p->x_tiles = (int16_t*)scratch;
  p->w_pair = p->x_tiles + p->tiles * TILE * p->padded;
}

static int32_t conv_k(const vireo_mcu_conv_wide* c) { return c->in_channels * c->kernel[0] * c->kernel[1]; }
static uint32_t units_of_group(int32_t k, int32_t positions, int32_t channels) {
  const int32_t tiles = tiles_of(padded_k(k), positions, TILE), needed = mcu_divide(positions + TILE - 1, TILE);
  return (uint32_t)needed + (uint32_t)mcu_divide(needed + tiles - 1, tiles) * (((uint32_t)channels + 1) / 2);
}
uint32_t vireo_mcu_conv_wide_scratch_on(const vireo_mcu_conv_wide* c, int32_t tile) {
  if (slides(c)) return 64 + 2 * (uint32_t)(span(c, 0, rows_of(c)) * span(c, 1, c->out[1]));
  return scratch_bytes(conv_k(c), c->out[0] * c->out[1], tile);
}
int vireo_mcu_conv_wide_in_place(const vireo_mcu_conv_wide* c) {
  return slides(c) && rows_of(c) == c->out[0] && c->in[0] == c->out[0] && c->in[1] == c->out[1] &&
         (c->x_type >= VIREO_MCU_I16) == (c->y_type >= VIREO_MCU_I16);
}
uint32_t vireo_mcu_conv_wide_scratch(const vireo_mcu_conv_wide* c) { return vireo_mcu_conv_wide_scratch_on(c, TILE); }
uint32_t vireo_mcu_conv_wide_units(const vireo_mcu_conv_wide* c) {
  if (slides(c)) return (uint32_t)mcu_divide(c->out[0] + rows_of(c) - 1, rows_of(c)) * (uint32_t)(c->batch * c->groups);
  return units_of_group(conv_k(c), c->out[0] * c->out[1], c->out_channels) * (uint32_t)(c->batch * c->groups);
}

void vireo_mcu_conv_wide_run(const vireo_mcu_conv_wide* c, const void* x, const int8_t* w, const float* m,
                             const int32_t* bias, const int8_t* w_zero, void* y, void* scratch, vireo_mcu_units units) {
  if (slides(c)) {
    run_sliding(c, x, w, m, bias, w_zero, y, scratch, units);
    return;
  }
  product p;
  p.k = conv_k(c);
  p.channels = c->out_channels;
  p.positions = c->out[0] * c->out[1];
  p.w_channel = p.k;
  p.w_k = 1;
  p.x_zero = c->x_zero - lower_of(c->x_type);
  p.codes = c->codes;
  p.one_multiplier = c->one_multiplier;
  p.one_w_zero = c->one_w_zero;
  p.y_type = c->y_type;
  p.y = y;
  p.y_channel = p.positions;
  p.y_position = 1;
  lay_out(&p, scratch);
  source s = {c, x, 0, c->x_type};
  const uint32_t of_group = units_of_group(p.k, p.positions, p.channels);
  uint32_t unit = 0;
  for (int32_t n = 0; n < c->batch * c->groups; ++n, unit += of_group) {
    const int32_t g = n - mcu_divide(n, c->groups) * c->groups, channel = g * c->out_channels;
    p.w = w + channel * p.k;
    p.m = m + (c->one_multiplier ? 0 : channel);
    p.bias = bias != NULL ? bias + channel : NULL;
    p.w_zero = w_zero != NULL ? w_zero + (c->one_w_zero ? 0 : channel) : NULL;
    p.y_first = n * c->out_channels * p.positions;
    s.x_first = n * c->in_channels * c->in[0] * c->in[1];
    if (unit + of_group > units.from && unit < units.to) run_blocks(&p, &s, unit, units);
  }
}

uint32_t vireo_mcu_gemm_wide_scratch_on(const vireo_mcu_gemm_wide* g, int32_t tile) {
  return scratch_bytes(g->k, g->m, tile);
}
uint32_t vireo_mcu_gemm_wide_scratch(const vireo_mcu_gemm_wide* g) { return vireo_mcu_gemm_wide_scratch_on(g, TILE); }
uint32_t vireo_mcu_gemm_wide_units(const vireo_mcu_gemm_wide* g) { return units_of_group(g->k, g->m, g->n); }
void vireo_mcu_gemm_wide_run(const vireo_mcu_gemm_wide* g, const void* a, const int8_t* b, const float* m,
                             const int32_t* bias, const int8_t* b_zero, void* y, void* scratch, vireo_mcu_units units) {
  product p;
  p.k = g->k;
  p.channels = g->n;
  p.positions = g->m;
  p.w = b;
  p.w_channel = 1;
  p.w_k = g->n;
  p.m = m;
  p.bias = bias;
  p.w_zero = b_zero;
  p.x_zero = g->a_zero - lower_of(g->a_type);
  p.codes = g->codes;
  p.one_multiplier = g->one_multiplier;
  p.one_w_zero = g->one_b_zero;
  p.y_type = g->y_type;
  p.y = y;
  p.y_first = 0;
  p.y_channel = 1;
  p.y_position = g->n;
  lay_out(&p, scratch);
  const source s = {NULL, a, 0, g->a_type};
  run_blocks(&p, &s, 0, units);
}
