#include "delegates/mcu/kernels/product.h"

#include "delegates/mcu/kernels/lanes.h"
#include "delegates/mcu/kernels/tile_sums.h"

#define TILE VIREO_MCU_TILE

enum {
  kBlockBytes = 2048, /* of x; a pair of filters is widened once a block */
  kMostTiles = 16,
};

/* One product as the loops below take it. Weight k of channel c lies at w_channel * c + w_k * (k % inner) +
 * w_outer * (k / inner): inner is k itself but for windows over channels last. */
typedef struct {
  int32_t k, padded; /* padded: a multiple of 4 */
  int32_t channels, positions, tiles;
  const uint8_t* w;
  int32_t w_first, w_channel, w_k, w_outer, inner;
  const float* m;
  const int32_t* bias;
  const uint8_t* w_zero;
  vireo_mcu_codes codes;
  uint8_t w_flip, y_flip, nibbles, one_multiplier, one_w_zero;
  uint8_t* y;
  int32_t y_channel, y_position;
  int16_t *x_tiles, *w_pair;
} product;

/* ---- Widening: codes of 8 bits to 16 bits, less a zero point */

/* Element k of a column of `width` in a block of `width` columns: k, k + 2 are a pair of lanes, then k + 1, k + 3. */
MCU_INLINE int32_t place(int32_t k, int32_t column, int32_t width) {
#if VIREO_MCU_LANES
  return (k & ~3) * width + (k & 1) * 2 * width + 2 * column + ((k >> 1) & 1);
#else
  return k * width + column;
#endif
}

MCU_INLINE int32_t code(uint8_t byte, uint8_t flip) { return (int8_t)(uint8_t)(byte ^ flip); }

/* k bytes in a row become one column; what is behind them up to a multiple of 4 becomes 0. */
#if !VIREO_MCU_MVE
MCU_APART
#endif
static void widen_row(const uint8_t* from, int32_t k, uint8_t flip, uint8_t zero, int32_t width, int32_t column,
                      int16_t* to) {
  const int32_t z = code(zero, flip);
#if VIREO_MCU_LANES
  const uint32_t flips = flip * 0x01010101u, zeros = (uint16_t)z * 0x00010001u;
  uint32_t* out = (uint32_t*)(void*)to + column;
  for (; k >= 4; k -= 4, from += 4, out += 2 * width) {
    const uint32_t v = mcu_load(from) ^ flips;
    out[0] = mcu_sub(mcu_even(v), zeros);
    out[width] = mcu_sub(mcu_odd(v), zeros);
  }
  if (k > 0) {
    uint32_t v = zero * 0x01010101u;
    memcpy(&v, from, (uint32_t)k);
    v ^= flips;
    out[0] = mcu_sub(mcu_even(v), zeros);
    out[width] = mcu_sub(mcu_odd(v), zeros);
  }
#else
  /* A code is its byte with the upper bit turned, less 128: no sign has to be extended. */
  const int32_t turn = flip ^ 128, less = z + 128;
  to += column;
  for (int32_t i = 0; i < k; ++i, to += width) *to = (int16_t)((from[i] ^ turn) - less);
#endif
}

static inline int32_t weight(const product* p, int32_t at) {
  if (!p->nibbles) return code(p->w[at], p->w_flip);
  const int32_t byte = p->w[at >> 1];
  return (((at & 1) != 0 ? byte >> 4 : byte & 15) ^ 8) - 8;
}

static void widen_filter(const product* p, int32_t c, int32_t column) {
  const uint8_t zero = p->w_zero != NULL ? p->w_zero[p->one_w_zero ? 0 : c] : 0;
  int32_t at = p->w_first + c * p->w_channel;
  if (!p->nibbles && p->w_k == 1 && p->inner == p->k) {
    widen_row(p->w + at, p->k, p->w_flip, zero, 2, column, p->w_pair);
    return;
  }
  const int32_t z = code(zero, p->w_flip);
  int32_t k = 0;
#if VIREO_MCU_LANES
  if (!p->nibbles && p->inner == p->k) { /* a column of a matrix */
    const int32_t step = p->w_k;
    const uint8_t* from = p->w + at;
    for (int16_t* to = p->w_pair + 2 * column; k + 4 <= p->k; k += 4, from += 4 * step, to += 8) {
      to[0] = (int16_t)(code(from[0], p->w_flip) - z), to[4] = (int16_t)(code(from[step], p->w_flip) - z);
      to[1] = (int16_t)(code(from[2 * step], p->w_flip) - z), to[5] = (int16_t)(code(from[3 * step], p->w_flip) - z);
    }
    at += k * step;
  }
#endif
  while (k < p->k) {
    const int32_t end = p->inner == p->k ? p->k : k + p->inner;
    for (int32_t from = at; k < end; ++k, from += p->w_k)
      p->w_pair[place(k, column, 2)] = (int16_t)(weight(p, from) - z);
    at += p->w_outer;
  }
  for (; k < p->padded; ++k) p->w_pair[place(k, column, 2)] = 0;
}

/* Filters whose bytes are the weights, one behind the other. */
static int is_plain(const product* p) {
  return p->w_zero == NULL && p->w_flip == 0 && !p->nibbles && p->w_k == 1 && p->inner == p->k;
}

/* The filters of two channels side by side. Without lanes plain ones are read where they lie. */
static void widen_filters(const product* p, int32_t c, int32_t d) {
#if VIREO_MCU_LANES
  if (is_plain(p) && (p->k & 3) == 0) {
    const uint8_t *u = p->w + p->w_first + c * p->w_channel, *v = u + (d - c) * p->w_channel;
    uint32_t* out = (uint32_t*)(void*)p->w_pair;
    for (const uint8_t* const end = u + p->k; u != end; u += 4, v += 4, out += 4) {
      const uint32_t a = mcu_load(u), b = mcu_load(v);
      out[0] = mcu_even(a), out[1] = mcu_even(b), out[2] = mcu_odd(a), out[3] = mcu_odd(b);
    }
    return;
  }
#else
  if (is_plain(p)) return;
#endif
  widen_filter(p, c, 0);
  widen_filter(p, d, 1);
}

/* Channels first, a window of one element: neighbouring positions are a column each. */
#if VIREO_MCU_LANES
/* Four positions of two channels at once. */
MCU_INLINE void widen_two(uint32_t a, uint32_t b, uint32_t flips, uint32_t zeros, uint32_t* out) {
  a ^= flips, b ^= flips;
  const uint32_t ae = mcu_sub(mcu_even(a), zeros), ao = mcu_sub(mcu_odd(a), zeros);
  const uint32_t be = mcu_sub(mcu_even(b), zeros), bo = mcu_sub(mcu_odd(b), zeros);
  out[0] = mcu_lows(ae, be), out[1] = mcu_lows(ao, bo), out[2] = mcu_highs(ae, be), out[3] = mcu_highs(ao, bo);
}
static void widen_points(const uint8_t* x, int32_t plane, int32_t k, uint8_t flip, uint8_t zero, int16_t* to) {
  const uint32_t flips = flip * 0x01010101u, zeros = (uint16_t)code(zero, flip) * 0x00010001u;
  const uint32_t none = zero * 0x01010101u; /* behind the last channel */
  const uint8_t *b = x + plane, *c = b + plane, *d = c + plane;
  uint32_t* out = (uint32_t*)(void*)to;
  const int32_t step = 4 * plane;
  for (; k >= 4; k -= 4, x += step, b += step, c += step, d += step, out += 8) {
    widen_two(mcu_load(x), mcu_load(c), flips, zeros, out);
    widen_two(mcu_load(b), mcu_load(d), flips, zeros, out + 4);
  }
  if (k > 0) {
    widen_two(mcu_load(x), k > 2 ? mcu_load(c) : none, flips, zeros, out);
    widen_two(k > 1 ? mcu_load(b) : none, none, flips, zeros, out + 4);
  }
}
#else
static void widen_points(const uint8_t* x, int32_t plane, int32_t k, uint8_t flip, uint8_t zero, int16_t* to) {
  /* Bytes as unsigned numbers have the differences of codes. */
  const uint32_t flips = flip ^ 0x80u, z = zero ^ flips;
  for (; k > 0; --k, x += plane, to += TILE) {
    for (int i = 0; i < TILE; ++i) to[i] = (int16_t)((x[i] ^ flips) - z);
  }
}
#endif

/* ---- Sums of a tile */

/* Codes of the tile's sums at `count` positions of both channels, to_d apart. */
#if VIREO_MCU_LANES
MCU_COLD
#endif
static void put_codes(const product* p, const uint32_t* sums, const mcu_multiplier* by, uint8_t* y, int32_t to_d,
                      int32_t count) {
  const vireo_mcu_codes codes = p->codes; /* a copy: a store of a byte might change what lies behind a pointer */
  const int32_t step = p->y_position;
  for (int i = 0; i < 2; ++i, sums += TILE, ++by, y += to_d) {
    const mcu_multiplier mine = *by;
    uint8_t* to = y;
    const uint32_t* from = sums;
    for (const uint32_t* const end = from + count; from != end; to += step)
      *to = (uint8_t)mcu_requantize_by((int32_t)*from++, &mine, &codes);
  }
}

/* Where a tile begins: the last one ends with the last position. */
static inline int32_t tile_begin(const product* p, int32_t position) {
  const int32_t last = p->positions - TILE;
  return position <= last ? position : last > 0 ? last : 0;
}

/* The tiles of a block for the pair of channels in w_pair. y: of channel c at position 0. */
static void multiply_pair(const product* p, int32_t c, int32_t d, int32_t first, int32_t tiles) {
  const int32_t count = p->positions < TILE ? p->positions : TILE;
  const uint32_t bias_c = p->bias != NULL ? (uint32_t)p->bias[c] : 0,
                 bias_d = p->bias != NULL ? (uint32_t)p->bias[d] : 0;
  mcu_multiplier by[2];
  mcu_make_ready(&by[0], p->m[p->one_multiplier ? 0 : c], mcu_most(p->k, p->w_zero != NULL, (int32_t)bias_c),
                 &p->codes);
  mcu_make_ready(&by[1], p->m[p->one_multiplier ? 0 : d], mcu_most(p->k, p->w_zero != NULL, (int32_t)bias_d),
                 &p->codes);
  const int32_t last = p->positions > TILE ? p->positions - TILE : 0, y_position = p->y_position;
  const int32_t to_d = (d - c) * p->y_channel;
  uint8_t* const y_c = p->y + c * p->y_channel;
#if VIREO_MCU_LANES
  const uint32_t* xp = (const uint32_t*)(const void*)p->x_tiles;
  const int32_t steps = p->padded >> 2;
  const uint32_t flips = p->y_flip ? 0u : 0x80808080u;
  const vireo_mcu_codes codes = p->codes;
  const uint32_t up = (uint32_t)(codes.zero + (p->y_flip ? 0 : 128)) * 0x00010001u;
  const int whole = p->codes.high - p->codes.low == 255 && count == TILE && c != d;
#else
  const int16_t* xp = p->x_tiles;
  const int plain = is_plain(p);
  const int8_t* const w_c = (const int8_t*)p->w + p->w_first + c * p->w_channel;
  const int8_t* const w_d = w_c + (d - c) * p->w_channel;
#endif
  for (int32_t end = first + tiles * TILE; first != end; first += TILE) {
    uint8_t* const y = y_c + (first < last ? first : last) * y_position;
#if VIREO_MCU_LANES
    const uint32_t* wp = (const uint32_t*)(const void*)p->w_pair;
    uint32_t a0 = bias_c, a1 = a0, a2 = a0, a3 = a0, b0 = bias_d, b1 = b0, b2 = b0, b3 = b0;
    SUM_TILE(xp, wp, steps);
    if (whole) {
      const mcu_multiplier by_c = by[0], by_d = by[1];
      const uint32_t c_even = mcu_two_codes(a0, a2, &by_c, &by_c, &codes, up);
      const uint32_t c_odd = mcu_two_codes(a1, a3, &by_c, &by_c, &codes, up);
      const uint32_t d_even = mcu_two_codes(b0, b2, &by_d, &by_d, &codes, up);
      const uint32_t d_odd = mcu_two_codes(b1, b3, &by_d, &by_d, &codes, up);
      if (y_position == 1) {
        mcu_store(y, (c_even | c_odd << 8) ^ flips);
        mcu_store(y + to_d, (d_even | d_odd << 8) ^ flips);
      } else {
        const uint32_t even = (c_even | d_even << 8) ^ flips, odd = (c_odd | d_odd << 8) ^ flips;
        mcu_store_half(y, even);
        mcu_store_half(y + y_position, odd);
        mcu_store_half(y + 2 * y_position, even >> 16);
        mcu_store_half(y + 3 * y_position, odd >> 16);
      }
      continue;
    }
    const uint32_t sums[8] = {a0, a1, a2, a3, b0, b1, b2, b3};
#else
#if TILE == 4
    uint32_t a0 = bias_c, a1 = a0, a2 = a0, a3 = a0, b0 = bias_d, b1 = b0, b2 = b0, b3 = b0;
    if (plain) {
      const int8_t *u8 = w_c, *v8 = w_d;
#if SUM_FOURS_HERE
      const int8_t* const u_four = w_c + (p->k & ~3);
      if (u8 != u_four) SUM_FOURS(xp, u8, v8, u_four);
#endif
      for (const int8_t* const u_end = w_c + p->k; u8 != u_end; xp += 4) SUM_STEP(xp, *u8++, *v8++);
    } else {
      const int16_t* const w_end = p->w_pair + 2 * p->k;
      for (const int16_t* wp = p->w_pair; wp != w_end; wp += 2, xp += 4) SUM_STEP(xp, wp[0], wp[1]);
    }
    const uint32_t sums[8] = {a0, a1, a2, a3, b0, b1, b2, b3};
#else
    uint32_t a0 = bias_c, a1 = a0, b0 = bias_d, b1 = b0;
    if (plain) {
      const int8_t* u8 = w_c;
#if SUM_FOURS_HERE
      const int8_t* const u_four = w_c + (p->k & ~3);
      if (u8 != u_four) SUM_FOURS(xp, u8, w_d - w_c, u_four);
#endif
      for (const int8_t* const u_end = w_c + p->k; u8 != u_end; ++u8, xp += 2) SUM_STEP(xp, u8[0], u8[w_d - w_c]);
    } else {
      const int16_t* const w_end = p->w_pair + 2 * p->k;
      for (const int16_t* wp = p->w_pair; wp != w_end; wp += 2, xp += 2) SUM_STEP(xp, wp[0], wp[1]);
    }
    const uint32_t sums[4] = {a0, a1, b0, b1};
#endif
    xp += TILE * (p->padded - p->k);
#endif
    put_codes(p, sums, by, y, to_d, count);
  }
}

/* Some pairs of channels of a block; an odd last one is done with the one before it, or twice. */
static void multiply(const product* p, int32_t first, int32_t tiles, vireo_mcu_units pairs) {
  const int32_t end = 2 * (int32_t)pairs.to;
  for (int32_t pair = 2 * (int32_t)pairs.from; pair < end; pair += 2) {
    const int32_t c = pair + 1 < p->channels || pair == 0 ? pair : pair - 1;
    const int32_t d = c + 1 < p->channels ? c + 1 : c;
    widen_filters(p, c, d);
    multiply_pair(p, c, d, first, tiles);
  }
}

static uint32_t pairs_of(int32_t channels) { return (uint32_t)(channels + 1) >> 1; }

static void pass(vireo_mcu_units* units, uint32_t count) {
  units->from = units->from > count ? units->from - count : 0;
  if (units->to != VIREO_MCU_ALL_UNITS) units->to = units->to > count ? units->to - count : 0;
}
/* Those of the next `count`, counted from these, which are passed; from == to: none. */
static vireo_mcu_units take(vireo_mcu_units* units, uint32_t count) {
  vireo_mcu_units some = *units;
  if (some.from > count) some.from = count;
  if (some.to > count) some.to = count;
  pass(units, count);
  return some;
}
/* The tiles of the block that begins at position `first`. */
static int32_t tiles_at(const product* p, int32_t first, int32_t most) {
  const int32_t left = (p->positions - first + TILE - 1) / TILE;
  return left < most ? left : most;
}

/* ---- Convolutions */

static int32_t padded_k(int32_t k) { return (k + 3) & ~3; }
MCU_APART static int32_t tiles_of(int32_t padded, int32_t positions, int32_t tile) {
  const int32_t needed = mcu_divide(positions + tile - 1, tile), fit = mcu_divide(kBlockBytes, 2 * tile * padded);
  const int32_t most = fit < 2 ? 2 : fit > kMostTiles ? kMostTiles : fit;
  return needed < most ? needed : most;
}
/* Tiles, a pair of filters, and a window in the order of k. */
static uint32_t scratch_bytes(int32_t k, int32_t positions, int32_t tile) {
  const int32_t padded = padded_k(k);
  return (uint32_t)(padded * (2 * tile * tiles_of(padded, positions, tile) + 2 * 2 + 1));
}

static int32_t conv_k(const vireo_mcu_conv* c) { return c->in_channels * c->kernel[0] * c->kernel[1]; }

uint32_t vireo_mcu_conv_scratch_on(const vireo_mcu_conv* c, int32_t tile) {
  return scratch_bytes(conv_k(c), c->out[0] * c->out[1], tile);
}
uint32_t vireo_mcu_conv_scratch(const vireo_mcu_conv* c) { return vireo_mcu_conv_scratch_on(c, TILE); }

MCU_APART static uint32_t units_of(int32_t k, int32_t positions, int32_t channels) {
  const int32_t needed = mcu_divide(positions + TILE - 1, TILE), tiles = tiles_of(padded_k(k), positions, TILE);
  return (uint32_t)needed + (uint32_t)mcu_divide(needed + tiles - 1, tiles) * pairs_of(channels);
}
uint32_t vireo_mcu_conv_units(const vireo_mcu_conv* c) {
  return units_of(conv_k(c), c->out[0] * c->out[1], c->out_channels) * (uint32_t)(c->batch * c->groups);
}

/* Whether a window is one element, in its place. */
static int is_point(const vireo_mcu_conv* c) {
  return c->kernel[0] * c->kernel[1] == 1 && (c->stride[0] | c->stride[1]) == 1 && (c->pad[0] | c->pad[1]) == 0 &&
         c->in[0] == c->out[0] && c->in[1] == c->out[1];
}

/* All channels of a block of positions are in scratch memory before any of them is written. The last tile goes back to
 * positions of the one before it, so the two have to be of one block. */
int vireo_mcu_conv_in_place(const vireo_mcu_conv* c, int32_t tile) {
  const int32_t positions = c->out[0] * c->out[1];
  const int32_t block = tile * tiles_of(padded_k(conv_k(c)), positions, tile);
  const int32_t last = positions % block;
  return is_point(c) && c->groups == 1 && c->in_channels == c->out_channels && (last % tile == 0 || last > tile);
}

/* The window of output (oy, ox) in the order [channel, tap], or [tap, channel] of channels last. */
static void gather(const vireo_mcu_conv* c, const uint8_t* x, int32_t oy, int32_t ox, uint8_t* to) {
  const int32_t all = c->groups * c->in_channels;
  const int32_t left = ox * c->stride[1] - c->pad[1], top = oy * c->stride[0] - c->pad[0];
  const int32_t planes = c->last ? 1 : c->in_channels, run = c->last ? c->in_channels : 1;
  const int32_t step = c->last ? all : 1; /* from a column to the next */
  const int32_t down = c->dilation[0] * c->in[1] * step;
  /* A row as bytes in a piece where no column is skipped: those before x, in x, behind x. */
  const int32_t columns = c->kernel[1], width = columns * run;
  const int whole = c->dilation[1] == 1 && run == step;
  const int32_t begin = left < 0 ? (-left < columns ? -left : columns) * run : 0;
  const int32_t inside = c->in[1] - left < columns ? (c->in[1] - left) * run : width;
  const uint8_t zero = c->x_zero;
#if VIREO_MCU_MVE
  const mve_pred16_t columns_in = vctp8q((uint32_t)inside) & (mve_pred16_t)~vctp8q((uint32_t)begin);
  const uint8x16_t zeros = vdupq_n_u8(zero);
#endif
  for (int32_t i = 0; i < planes; ++i) {
    int32_t iy = top;
    const uint8_t* row = x + ((i * c->in[0] + iy) * c->in[1] + left) * step;
    for (int32_t ky = c->kernel[0]; ky > 0; --ky, iy += c->dilation[0], row += down) {
      int32_t k = 0;
#if VIREO_MCU_MVE
      if (whole && width <= 16) {
        const mve_pred16_t in = iy >= 0 && iy < c->in[0] ? columns_in : 0;
        vstrbq_p_u8(to, vpselq_u8(vldrbq_z_u8(row, in), zeros, in), vctp8q((uint32_t)width));
        to += width;
        continue;
      }
#endif
      if (iy < 0 || iy >= c->in[0]) {
        for (; k < width; ++k) *to++ = zero;
      } else if (whole) {
        for (; k < begin; ++k) *to++ = zero;
        for (; k < inside; ++k) *to++ = row[k];
        for (; k < width; ++k) *to++ = zero;
      } else {
        for (int32_t kx = 0; kx < columns; ++kx) {
          const int32_t ix = kx * c->dilation[1];
          const int outside = left + ix < 0 || left + ix >= c->in[1];
          for (k = 0; k < run; ++k) *to++ = outside ? zero : row[ix * step + k];
        }
      }
    }
  }
}

static void widen_tile(const vireo_mcu_conv* c, const product* p, const uint8_t* x, int32_t first, int point,
                       int16_t* to) {
  const int32_t plane = c->in[0] * c->in[1];
  uint8_t* const window = (uint8_t*)(p->w_pair + 2 * p->padded);
  if (point && !c->last && p->positions >= TILE) {
    widen_points(x + first, plane, p->k, c->x_flip, c->x_zero, to);
    return;
  }
  int32_t oy = mcu_divide(first, c->out[1]), ox = first - oy * c->out[1];
  for (int32_t i = 0; i < TILE; ++i) {
    const uint8_t* row = window;
    if (point && c->last) {
      row = x + (oy * c->in[1] + ox) * c->groups * c->in_channels;
    } else if (point) {
      const uint8_t* from = x + oy * c->in[1] + ox;
      for (int32_t k = 0; k < p->k; ++k, from += plane) window[k] = *from;
    } else {
      gather(c, x, oy, ox, window);
    }
    widen_row(row, p->k, c->x_flip, c->x_zero, TILE, i, to);
    /* Fewer positions than a tile has: the last one again. */
    if (oy * c->out[1] + ox + 1 < p->positions && ++ox == c->out[1]) {
      ox = 0;
      ++oy;
    }
  }
}

#if VIREO_MCU_MVE
/* ---- Vectors of 16 products
 *
 * Tiles of four positions hold signed bytes as they are, 16 of each position behind one another; behind the last k they
 * are 0. The zero point of x goes into the bias. Weights are read where they lie: plain ones of at least 16. Blocks are
 * those of the code above, and take less scratch memory than it does. */

static int serves_vectors(const vireo_mcu_conv* c, const product* p) {
  return p->w_zero == NULL && !p->nibbles && p->w_k == 1 && p->inner == p->k && p->k >= 16 && p->positions >= TILE &&
         7 * c->in[0] * c->in[1] <= 65535;
}

/* k bytes in a row become column `column` of a tile. */
static void put_column(const uint8_t* from, int32_t k, uint8_t flip, int32_t column, uint8_t* tile) {
  const uint8x16_t flips = vdupq_n_u8(flip);
  for (uint8_t* to = tile + 16 * column; k > 0; k -= 16, from += 16, to += 64)
    vst1q_u8(to, veorq_x_u8(vldrbq_z_u8(from, vctp8q((uint32_t)k)), flips, vctp8q((uint32_t)k)));
}

/* Channels first, a window of one element. */
static void put_points(const uint8_t* x, int32_t plane, int32_t k, uint8_t flip, uint8_t* tile) {
  const uint16x8_t offsets = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)plane), flips = vdupq_n_u16(flip);
  uint8_t* to = tile;
  for (; k >= 8; k -= 8, x += 8 * plane) {
    vstrbq_u16(to, veorq_u16(vldrbq_gather_offset_u16(x, offsets), flips));
    vstrbq_u16(to + 16, veorq_u16(vldrbq_gather_offset_u16(x + 1, offsets), flips));
    vstrbq_u16(to + 32, veorq_u16(vldrbq_gather_offset_u16(x + 2, offsets), flips));
    vstrbq_u16(to + 48, veorq_u16(vldrbq_gather_offset_u16(x + 3, offsets), flips));
    to += (to - tile) & 8 ? 56 : 8;
  }
  /* The rest, and 0 up to a multiple of 16. */
  for (; k > 0 || ((to - tile) & 8) != 0; k = 0) {
    const mve_pred16_t in = vctp16q((uint32_t)k);
    for (int32_t i = 0; i < TILE; ++i) {
      const uint16x8_t v = vldrbq_gather_offset_z_u16(x + i, offsets, in);
      vstrbq_u16(to + 16 * i, vpselq_u16(veorq_u16(v, flips), vdupq_n_u16(0), in));
    }
    to += (to - tile) & 8 ? 56 : 8;
  }
}

static void fill_tile(const vireo_mcu_conv* c, const product* p, const uint8_t* x, int32_t first, int point,
                      uint8_t* tile) {
  const int32_t plane = c->in[0] * c->in[1];
  if (point && !c->last) {
    put_points(x + first, plane, p->k, c->x_flip, tile);
    return;
  }
  uint8_t* const window = (uint8_t*)(p->w_pair + 2 * p->padded);
  int32_t oy = mcu_divide(first, c->out[1]), ox = first - oy * c->out[1];
  for (int32_t i = 0; i < TILE; ++i) {
    const uint8_t* row = window;
    if (point) {
      row = x + (first + i) * c->groups * c->in_channels;
    } else {
      gather(c, x, oy, ox, window);
    }
    put_column(row, p->k, c->x_flip, i, tile);
    if (++ox == c->out[1]) {
      ox = 0;
      ++oy;
    }
  }
}

/* Four positions by two channels: 16 instructions for 128 products, of which the first 14 begin the sums. Sums have to
 * be in even registers, of which there are eight: none is left for a loop's counter. */
#if defined(__OPTIMIZE__)
#define DOTS(dot)                                                                                               \
  "vldrb.u8 q0, [%[u]], #16\n vldrb.u8 q1, [%[v]], #16\n vldrb.u8 q2, [%[x]], #16\n" dot " %[a0], q2, q0\n" dot \
  " %[b0], q2, q1\n vldrb.u8 q3, [%[x]], #16\n" dot " %[a1], q3, q0\n" dot                                      \
  " %[b1], q3, q1\n vldrb.u8 q2, [%[x]], #16\n" dot " %[a2], q2, q0\n" dot                                      \
  " %[b2], q2, q1\n vldrb.u8 q3, [%[x]], #16\n" dot " %[a3], q3, q0\n" dot " %[b3], q3, q1\n cmp %[u], %[end]\n"
#define SUM_16S(u_, v_, end_)                                                                                   \
  __asm__ volatile(DOTS("vmladav.s8") "beq 2f\n 1:\n" DOTS("vmladava.s8") "bne 1b\n 2:\n"                       \
                   : [a0] "=&Te"(a0), [a1] "=&Te"(a1), [a2] "=&Te"(a2), [a3] "=&Te"(a3), [b0] "=&Te"(b0),       \
                     [b1] "=&Te"(b1), [b2] "=&Te"(b2), [b3] "=&Te"(b3), [x] "+r"(x), [u] "+r"(u_), [v] "+r"(v_) \
                   : [end] "r"(end_)                                                                            \
                   : "cc", "memory", "q0", "q1", "q2", "q3")
#else
#define SUM_16S(u_, v_, end_)                \
  a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0; \
  for (; (u_) != (end_); (u_) += 16, (v_) += 16, x += 64) SUM_16(vld1q_s8(u_), vld1q_s8(v_))
#endif
#define SUM_16(u_, v_)                                            \
  do {                                                            \
    const int8x16_t wu = (u_), wv = (v_);                         \
    int8x16_t xs = vld1q_s8(x);                                   \
    a0 = vmladavaq_s8(a0, xs, wu), b0 = vmladavaq_s8(b0, xs, wv); \
    xs = vld1q_s8(x + 16);                                        \
    a1 = vmladavaq_s8(a1, xs, wu), b1 = vmladavaq_s8(b1, xs, wv); \
    xs = vld1q_s8(x + 32);                                        \
    a2 = vmladavaq_s8(a2, xs, wu), b2 = vmladavaq_s8(b2, xs, wv); \
    xs = vld1q_s8(x + 48);                                        \
    a3 = vmladavaq_s8(a3, xs, wu), b3 = vmladavaq_s8(b3, xs, wv); \
  } while (0)

/* The bias less the zero point of x times the weights. */
static int32_t bias_less_zero(const product* p, int32_t c, int32_t zero) {
  const int32_t bias = p->bias != NULL ? p->bias[c] : 0;
  if (zero == 0) return bias;
  const int8_t* w = (const int8_t*)p->w + p->w_first + c * p->w_channel;
  int32_t sum = 0;
  int32_t k = p->k;
  for (; k >= 16; k -= 16, w += 16) sum = vaddvaq_s8(sum, vld1q_s8(w));
  if (k > 0) sum = vaddvaq_s8(sum, vldrbq_z_s8(w, vctp8q((uint32_t)k)));
  return (int32_t)((uint32_t)bias - (uint32_t)(sum * zero));
}

/* The tiles of a block for two channels. tail: k is no multiple of 16. */
MCU_INLINE void vector_tiles(const product* p, int32_t c, int32_t d, int32_t first, int32_t tiles, int32_t bias_c,
                             int32_t bias_d, int tail) {
  const int32_t k = p->k, last = p->positions - TILE, step = p->y_position, to_d = (d - c) * p->y_channel;
  const int8_t *const w_c = (const int8_t*)p->w + p->w_first + c * p->w_channel, *const w_end = w_c + (k & ~15);
  const int8_t* const w_d = w_c + (d - c) * p->w_channel;
  const int8_t *x = (const int8_t*)p->x_tiles, *const x_end = x + tiles * TILE * ((k + 15) & ~15);
  const float mc = p->m[p->one_multiplier ? 0 : c], md = p->m[p->one_multiplier ? 0 : d];
  const vireo_mcu_codes codes = p->codes;
  uint8_t *to = p->y + c * p->y_channel + first * step, *const to_last = to + (last - first) * step;
  do {
    const int8_t *u = w_c, *v = w_d;
    int32_t a0, a1, a2, a3, b0, b1, b2, b3;
    SUM_16S(u, v, w_end);
    if (tail) {
      const mve_pred16_t in = vctp8q((uint32_t)k & 15);
      SUM_16(vldrbq_z_s8(u, in), vldrbq_z_s8(v, in));
      x += 64;
    }
    const int32x4_t a = vaddq_n_s32(mcu_vector(a0, a1, a2, a3), bias_c);
    const int32x4_t b = vaddq_n_s32(mcu_vector(b0, b1, b2, b3), bias_d);
    const int32x4_t cs = mcu_four_codes(a, mc, &codes), ds = mcu_four_codes(b, md, &codes);
    int8_t* const y = (int8_t*)(to < to_last ? to : to_last);
    to += TILE * step;
    if (step == 1) {
      vstrbq_s32(y, cs);
      vstrbq_s32(y + to_d, ds);
    } else {
      const uint32x4_t offsets = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)step);
      vstrbq_scatter_offset_s32(y, offsets, cs);
      vstrbq_scatter_offset_s32(y + to_d, offsets, ds);
    }
  } while (x != x_end);
}

MCU_APART static void vector_pair(const product* p, int32_t c, int32_t d, int32_t first, int32_t tiles, int32_t bias_c,
                                  int32_t bias_d) {
  vector_tiles(p, c, d, first, tiles, bias_c, bias_d, 0);
}
MCU_APART static void vector_pair_with_tail(const product* p, int32_t c, int32_t d, int32_t first, int32_t tiles,
                                            int32_t bias_c, int32_t bias_d) {
  vector_tiles(p, c, d, first, tiles, bias_c, bias_d, 1);
}

static void run_vectors(const vireo_mcu_conv* c, const product* p, const uint8_t* x, vireo_mcu_units units) {
  const int point = is_point(c);
  const int32_t tile_bytes = TILE * ((p->k + 15) & ~15), zero = code(c->x_zero, c->x_flip);
  uint8_t *const tiles = (uint8_t*)p->x_tiles, *const end = (uint8_t*)(p->w_pair + 2 * p->padded);
  /* Twice the tiles, and biases for all blocks, where scratch memory has room for them: bytes take half of it. Blocks
   * of twice the size are in place where those of the plan are (vireo_mcu_conv_in_place). */
  const int whole = units.to == VIREO_MCU_ALL_UNITS;
  const int32_t twice = whole && 2 * p->tiles * tile_bytes + 4 * p->channels <= end - tiles ? 2 : 1;
  const int32_t most = twice * p->tiles;
  int32_t* const biases = (int32_t*)(void*)(tiles + most * tile_bytes);
  const int kept = whole && (uint8_t*)(biases + p->channels) <= end;
  for (int32_t i = 0; kept && i < p->channels; ++i) biases[i] = bias_less_zero(p, i, zero);
  for (int32_t first = 0; first < p->positions; first += most * TILE) {
    const int32_t count = tiles_at(p, first, most);
    const vireo_mcu_units filled = take(&units, (uint32_t)count), pairs = take(&units, pairs_of(p->channels));
    for (int32_t i = (int32_t)filled.from; i < (int32_t)filled.to; ++i)
      fill_tile(c, p, x, tile_begin(p, first + i * TILE), point, tiles + i * tile_bytes);
    for (int32_t i = 2 * (int32_t)pairs.from; i < 2 * (int32_t)pairs.to; i += 2) {
      const int32_t d = i + 1 < p->channels ? i + 1 : i;
      const int32_t bias_c = kept ? biases[i] : bias_less_zero(p, i, zero);
      const int32_t bias_d = kept ? biases[d] : bias_less_zero(p, d, zero);
      if ((p->k & 15) == 0) {
        vector_pair(p, i, d, first, count, bias_c, bias_d);
      } else {
        vector_pair_with_tail(p, i, d, first, count, bias_c, bias_d);
      }
    }
  }
}
#endif

static void run_blocks(const vireo_mcu_conv* c, product* p, const uint8_t* x, vireo_mcu_units units) {
#if VIREO_MCU_MVE
  if (serves_vectors(c, p)) {
    run_vectors(c, p, x, units);
    return;
  }
#endif
  const int point = is_point(c);
  const int32_t tile_elements = TILE * p->padded;
  for (int32_t first = 0; first < p->positions; first += p->tiles * TILE) {
    const int32_t tiles = tiles_at(p, first, p->tiles);
    const vireo_mcu_units widened = take(&units, (uint32_t)tiles), pairs = take(&units, pairs_of(p->channels));
    for (int32_t i = (int32_t)widened.from; i < (int32_t)widened.to; ++i)
      widen_tile(c, p, x, tile_begin(p, first + i * TILE), point, p->x_tiles + i * tile_elements);
    multiply(p, first, tiles, pairs);
  }
}

void vireo_mcu_conv_run_units(const vireo_mcu_conv* c, const uint8_t* x, const uint8_t* w, const float* m,
                              const int32_t* bias, const int8_t* w_zero, uint8_t* y, void* scratch,
                              vireo_mcu_units units) {
  const int32_t in_plane = c->in[0] * c->in[1], taps = c->kernel[0] * c->kernel[1];
  product p;
  p.k = conv_k(c);
  p.padded = padded_k(p.k);
  p.channels = c->out_channels;
  p.positions = c->out[0] * c->out[1];
  p.tiles = tiles_of(p.padded, p.positions, TILE);
  p.w = w;
  p.w_channel = p.k;
  const int strided = c->last && taps > 1 && c->in_channels > 1;
  p.inner = strided ? c->in_channels : p.k;
  p.w_k = strided ? taps : 1;
  p.w_outer = 1;
  p.w_flip = 0;
  p.y_flip = c->y_flip;
  p.nibbles = c->w_nibbles;
  p.one_multiplier = c->one_multiplier;
  p.one_w_zero = c->one_w_zero;
  p.codes = c->codes;
  p.y_channel = c->last ? 1 : p.positions;
  p.y_position = c->last ? c->groups * c->out_channels : 1;
  p.x_tiles = (int16_t*)scratch;
  p.w_pair = p.x_tiles + p.tiles * TILE * p.padded;
  const uint32_t of_group = units_of(p.k, p.positions, p.channels);
  for (int32_t n = 0; n < c->batch; ++n) {
    for (int32_t g = 0; g < c->groups; ++g, pass(&units, of_group)) {
      const int32_t channel = g * c->out_channels;
      if (units.from >= of_group) continue;
      if (units.to == 0) return;
      p.w_first = channel * p.k;
      p.m = m + (c->one_multiplier ? 0 : channel);
      p.bias = bias != NULL ? bias + channel : NULL;
      p.w_zero = w_zero != NULL ? (const uint8_t*)w_zero + (c->one_w_zero ? 0 : channel) : NULL;
      p.y = y + channel * p.y_channel;
      run_blocks(c, &p, x + g * c->in_channels * (c->last ? 1 : in_plane), units);
    }
    x += c->groups * c->in_channels * in_plane;
    y += c->groups * c->out_channels * p.positions;
  }
}

/* ---- Matrix products */

uint32_t vireo_mcu_gemm_scratch_on(const vireo_mcu_gemm* g, int32_t tile) { return scratch_bytes(g->k, g->m, tile); }
uint32_t vireo_mcu_gemm_scratch(const vireo_mcu_gemm* g) { return vireo_mcu_gemm_scratch_on(g, TILE); }

uint32_t vireo_mcu_gemm_units(const vireo_mcu_gemm* g) { return units_of(g->k, g->m, g->n); }

void vireo_mcu_gemm_run_units(const vireo_mcu_gemm* g, const uint8_t* a, const uint8_t* b, const float* m,
                              const int32_t* bias, const int8_t* b_zero, uint8_t* y, void* scratch,
                              vireo_mcu_units units) {
  product p;
  p.k = p.inner = g->k;
  p.padded = padded_k(g->k);
  p.channels = g->n;
  p.positions = g->m;
  p.tiles = tiles_of(p.padded, p.positions, TILE);
  p.w = b;
  p.w_first = 0;
  p.w_channel = 1;
  p.w_k = g->n;
  p.w_outer = 0;
  p.m = m;
  p.bias = bias;
  p.w_zero = (const uint8_t*)b_zero;
  p.codes = g->codes;
  p.w_flip = g->b_flip;
  p.y_flip = g->y_flip;
  p.nibbles = g->b_nibbles;
  p.one_multiplier = g->one_multiplier;
  p.one_w_zero = g->one_b_zero;
  p.y = y;
  p.y_channel = 1;
  p.y_position = g->n;
  p.x_tiles = (int16_t*)scratch;
  p.w_pair = p.x_tiles + p.tiles * TILE * p.padded;
  for (int32_t first = 0; first < p.positions; first += p.tiles * TILE) {
    const int32_t tiles = tiles_at(&p, first, p.tiles);
    const vireo_mcu_units widened = take(&units, (uint32_t)tiles), pairs = take(&units, pairs_of(p.channels));
    for (int32_t t = (int32_t)widened.from; t < (int32_t)widened.to; ++t) {
      const int32_t begin = tile_begin(&p, first + t * TILE);
      for (int32_t i = 0; i < TILE; ++i) {
        const int32_t row = begin + i < p.positions ? begin + i : p.positions - 1;
        widen_row(a + row * p.k, p.k, g->a_flip, g->a_zero, TILE, i, p.x_tiles + t * TILE * p.padded);
      }
    }
    multiply(&p, first, tiles, pairs);
  }
}
