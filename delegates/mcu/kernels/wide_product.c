/* Sums of products of 16-bit codes with weights of 8 bits. Tiles and loops are those of product.c: in blocks of
 * products whose sums stay in 32 bits, their totals in 64. */
#include <stddef.h>

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
/* Element k of a column of `width` (product.c). */
MCU_INLINE int32_t place(int32_t k, int32_t column, int32_t width) {
#if VIREO_MCU_LANES
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
    p->w_pair[place(k, column, 2)] = (int16_t)w;
    sum += w;
  }
  for (; k < p->padded; ++k) p->w_pair[place(k, column, 2)] = 0;
  return sum;
}

#if VIREO_MCU_LANES
/* Both filters of a pair, as they lie, where nobody asks for their sums. */
static void widen_plain(const product* p, int32_t c, int32_t d) {
  const int8_t *u = p->w + c * p->w_channel, *v = p->w + d * p->w_channel;
  uint32_t* out = (uint32_t*)(void*)p->w_pair;
  for (const int8_t* const end = u + p->k; u != end; u += 4, v += 4, out += 4) {
    const uint32_t a = mcu_load(u), b = mcu_load(v);
    out[0] = mcu_even(a), out[1] = mcu_even(b), out[2] = mcu_odd(a), out[3] = mcu_odd(b);
  }
}
#endif

/* Sums of `count` products of a tile and both channels, from what they begin with: [channel][position]. */
MCU_INLINE void sum_block(const int16_t* tile, const int16_t* w_pair, int32_t count, uint32_t bias_c, uint32_t bias_d,
                          uint32_t* sums) {
#if VIREO_MCU_LANES
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
  uint32_t* out = (uint32_t*)(void*)tile;
  for (; k > 0; k -= 4, x += 4 * plane, out += 8) {
    for (int i = 0; i < 2; ++i) {
      const int16_t *const u = x + i * plane, *const v = u + 2 * plane;
      const uint32_t u0 = mcu_load(u), u1 = mcu_load(u + 2), v0 = mcu_load(v), v1 = mcu_load(v + 2);
      uint32_t* const to = out + 4 * i;
      to[0] = mcu_lows(u0, v0), to[1] = mcu_highs(u0, v0), to[2] = mcu_lows(u1, v1), to[3] = mcu_highs(u1, v1);
    }
  }
}
static int is_point(const vireo_mcu_conv_wide* c) {
  return c->kernel[0] * c->kernel[1] == 1 && (c->stride[0] | c->stride[1]) == 1 && (c->pad[0] | c->pad[1]) == 0 &&
         c->in[0] == c->out[0] && c->in[1] == c->out[1];
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
        tile[place(k, i, TILE)] = (int16_t)(mcu_code_at(s->x, position * p->k + k, s->type) - lower);
    } else {
      const int32_t oy = mcu_divide(position, c->out[1]), ox = position - oy * c->out[1];
      const int32_t top = oy * c->stride[0] - c->pad[0], left = ox * c->stride[1] - c->pad[1];
      for (int32_t channel = 0; channel < c->in_channels; ++channel) {
        const int32_t plane = s->x_first + channel * c->in[0] * c->in[1];
        for (int32_t ky = 0, iy = top; ky < c->kernel[0]; ++ky, iy += c->dilation[0]) {
          const int inside = iy >= 0 && iy < c->in[0];
          for (int32_t kx = 0, ix = left; kx < c->kernel[1]; ++kx, ix += c->dilation[1], ++k)
            tile[place(k, i, TILE)] = (int16_t)(inside && ix >= 0 && ix < c->in[1]
                                                    ? mcu_code_at(s->x, plane + iy * c->in[1] + ix, s->type) - lower
                                                    : padding);
        }
      }
    }
    for (; k < p->padded; ++k) tile[place(k, i, TILE)] = 0;
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

/* Down a column of y; 3 x 3 at stride 1 without a loop. */
MCU_APART static void slide(const vireo_mcu_conv_wide* c, const int16_t* w, int64_t begin, float m, const int16_t* band,
                            int32_t pitch, int32_t rows, void* y, int32_t at) {
  /* Whether sums stay in 32 bits with what they begin with. */
  const int narrow = begin <= INT32_MAX / 2 && begin >= -(INT32_MAX / 2);
  const int32_t bias = narrow ? (int32_t)begin : 0;
  const vireo_mcu_codes codes = c->codes;
  const int32_t columns = c->out[1];
  const uint8_t type = c->y_type;
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
        const int inside = iy >= 0 && iy < c->in[0];
        const int32_t from = n * plane + iy * c->in[1] - c->pad[1];
        for (int32_t j = 0; j < pitch; ++j) {
          const int32_t ix = j - c->pad[1];
          to[j] = (int16_t)(inside && ix >= 0 && ix < c->in[1] ? mcu_code_at(x, from + j, c->x_type) - lower : zero);
        }
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
