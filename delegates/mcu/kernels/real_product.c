/* Products of float32: reals.h says in which order. */
#include <float.h>
#include <stddef.h>
#include <string.h>

#include "delegates/mcu/kernels/lanes.h"
#include "delegates/mcu/kernels/reals.h"

enum { kTile = 4 };

#if defined(__arm__) && defined(__ARM_FP) && defined(__OPTIMIZE__) && !defined(__clang__)
/* 33.5 instructions for 16 products: 16 sums, 8 of x, 4 of w and 4 products take all 32 registers. A product and a sum
 * take a cycle each, vmla three, on a Cortex-M4. A sum follows its product by 4 instructions, so that none waits. */
#define MUL(y0, y1, y2, y3, v)                                                                                    \
  "vmul.f32 " y0 ", " v ", s24\n vmul.f32 " y1 ", " v ", s25\n vmul.f32 " y2 ", " v ", s26\n vmul.f32 " y3 ", " v \
  ", s27\n"
#define ADD(y0, y1, y2, y3)                                                                                           \
  "vadd.f32 " y0 ", " y0 ", s28\n vadd.f32 " y1 ", " y1 ", s29\n vadd.f32 " y2 ", " y2 ", s30\n vadd.f32 " y3 ", " y3 \
  ", s31\n"
#define SUM(y0, y1, y2, y3, v) MUL("s28", "s29", "s30", "s31", v) ADD(y0, y1, y2, y3)
#define STEP(x0, x1, x2, x3)                                                                  \
  "vldmia %[w]!, {s24-s27}\n" SUM("s0", "s1", "s2", "s3", x0) SUM("s4", "s5", "s6", "s7", x1) \
      SUM("s8", "s9", "s10", "s11", x2) SUM("s12", "s13", "s14", "s15", x3)
#define TWO_STEPS "vldmia %[x]!, {s16-s23}\n" STEP("s16", "s17", "s18", "s19") STEP("s20", "s21", "s22", "s23")
#define LOWER(v) "vcmpe.f32 " v ", s20\n vmrs APSR_nzcv, FPSCR\n it mi\n vmovmi.f32 " v ", s20\n"
/* sums: [4 positions][4 channels] of k >= 1 products and a bias, at least `low`. The first step has products alone. */
static void sum_tile(const float* x, const float* w, int32_t k, const float* bias, float low, float* sums) {
  const float* end = w + 4 + 4 * ((k - 1) & 3);
  __asm__ volatile(
      "vldmia %[x]!, {s16-s19}\n vldmia %[w]!, {s24-s27}\n" MUL("s0", "s1", "s2", "s3", "s16") MUL(
          "s4", "s5", "s6", "s7", "s17") MUL("s8", "s9", "s10", "s11", "s18")
          MUL("s12", "s13", "s14", "s15", "s19") "cmp %[w], %[end]\n beq 2f\n 1:\n vldmia %[x]!, {s16-s19}\n" STEP(
              "s16", "s17", "s18",
              "s19") "cmp %[w], %[end]\n bne 1b\n 2:\n cmp %[w], %[all]\n beq 4f\n 3:\n" TWO_STEPS TWO_STEPS
                     "cmp %[w], %[all]\n bne 3b\n 4:\n vldmia %[bias], {s16-s19}\n vmov s20, %[low]\n"
                     "vadd.f32 s0, s0, s16\n vadd.f32 s1, s1, s17\n vadd.f32 s2, s2, s18\n vadd.f32 s3, s3, s19\n"
                     "vadd.f32 s4, s4, s16\n vadd.f32 s5, s5, s17\n vadd.f32 s6, s6, s18\n vadd.f32 s7, s7, s19\n"
                     "vadd.f32 s8, s8, s16\n vadd.f32 s9, s9, s17\n vadd.f32 s10, s10, s18\n vadd.f32 s11, s11, s19\n"
                     "vadd.f32 s12, s12, s16\n vadd.f32 s13, s13, s17\n vadd.f32 s14, s14, s18\n vadd.f32 s15, s15, "
                     "s19\n" LOWER("s0") LOWER("s1") LOWER("s2") LOWER("s3") LOWER("s4") LOWER("s5") LOWER("s6")
                         LOWER("s7") LOWER("s8") LOWER("s9") LOWER("s10") LOWER("s11") LOWER("s12") LOWER("s13")
                             LOWER("s14") LOWER("s15") "vstmia %[sums], {s0-s15}\n"
      : [x] "+r"(x), [w] "+r"(w)
      : [end] "r"(end), [all] "r"(w + 4 * k), [sums] "r"(sums), [bias] "r"(bias), [low] "r"(low)
      : "cc", "memory", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14",
        "s15", "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "s28", "s29", "s30",
        "s31");
}
#else
#define ROW(s, v) s##0 += (v)*w0, s##1 += (v)*w1, s##2 += (v)*w2, s##3 += (v)*w3
#define PUT(to, s)                                                                          \
  (to)[0] = mcu_at_least(s##0 + bias[0], low), (to)[1] = mcu_at_least(s##1 + bias[1], low), \
  (to)[2] = mcu_at_least(s##2 + bias[2], low), (to)[3] = mcu_at_least(s##3 + bias[3], low)
static void sum_tile(const float* x, const float* w, int32_t k, const float* bias, float low, float* sums) {
  const float* const end = w + 4 * k;
  float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], v0 = x[0], v1 = x[1], v2 = x[2], v3 = x[3];
  float a0 = v0 * w0, a1 = v0 * w1, a2 = v0 * w2, a3 = v0 * w3, b0 = v1 * w0, b1 = v1 * w1, b2 = v1 * w2, b3 = v1 * w3;
  float c0 = v2 * w0, c1 = v2 * w1, c2 = v2 * w2, c3 = v2 * w3, d0 = v3 * w0, d1 = v3 * w1, d2 = v3 * w2, d3 = v3 * w3;
  for (w += 4; w != end; w += 4) {
    x += 4;
    w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
    v0 = x[0], v1 = x[1], v2 = x[2], v3 = x[3];
    ROW(a, v0), ROW(b, v1), ROW(c, v2), ROW(d, v3);
  }
  PUT(sums, a), PUT(sums + 4, b), PUT(sums + 8, c), PUT(sums + 12, d);
}
#endif

/* One position. */
static void sum_line(const float* x, const float* w, int32_t k, const float* bias, float low, float* sums) {
  float v = *x, a = v * w[0], b = v * w[1], c = v * w[2], d = v * w[3];
  for (const float* const end = x + k; ++x != end;) {
    w += 4, v = *x;
    a += v * w[0], b += v * w[1], c += v * w[2], d += v * w[3];
  }
  sums[0] = mcu_at_least(a + bias[0], low), sums[1] = mcu_at_least(b + bias[1], low);
  sums[2] = mcu_at_least(c + bias[2], low), sums[3] = mcu_at_least(d + bias[3], low);
}

/* Where a product's tiles lie. */
typedef struct {
  int32_t k, positions, channels;
  int32_t y_position, y_channel;
  const float *w, *bias;
  const vireo_mcu_bounds* bounds;
} product;

/* Four channels from c on, of the tile in scratch memory. y: of channel 0 at its first position. */
static void multiply(const product* p, int32_t c, int32_t count, const float* tile, float* y) {
  static const float kNone[4];
  float sums[16], some[4];
  const float* const w = p->w + c * p->k;
  const int32_t channels = p->channels - c < 4 ? p->channels - c : 4, step = p->y_position;
  const float *add = p->bias != NULL ? p->bias + c : kNone, high = p->bounds->high;
  if (p->bias != NULL && channels < 4) {
    for (int32_t j = 0; j < 4; ++j) some[j] = add[j < channels ? j : 0];
    add = some;
  }
  if (count == 1) {
    sum_line(tile, w, p->k, add, p->bounds->low, sums);
  } else {
    sum_tile(tile, w, p->k, add, p->bounds->low, sums);
  }
  if (high <= FLT_MAX) {
    for (int i = 0; i < 4 * count; ++i) sums[i] = sums[i] > high ? high : sums[i];
  }
  y += c * p->y_channel;
  const float *s = sums, *const end = sums + channels;
  const int32_t to_next = p->y_channel;
  if (count == kTile && step == 1) {
    for (; s != end; ++s, y += to_next) y[0] = s[0], y[1] = s[4], y[2] = s[8], y[3] = s[12];
  } else {
    for (; s != end; ++s, y += to_next) {
      for (int32_t i = 0; i < count; ++i) y[i * step] = s[4 * i];
    }
  }
}

static uint32_t groups_of_4(int32_t channels) { return ((uint32_t)channels + 3) / 4; }
static uint32_t units_of(int32_t positions, int32_t channels) {
  return ((uint32_t)positions + kTile - 1) / kTile * (1 + groups_of_4(channels));
}

static int32_t conv_k(const vireo_mcu_conv_reals* c) { return c->in_channels * c->kernel[0] * c->kernel[1]; }
uint32_t vireo_mcu_conv_reals_units(const vireo_mcu_conv_reals* c) {
  return units_of(c->out[0] * c->out[1], c->out_channels) * (uint32_t)(c->batch * c->groups);
}
uint32_t vireo_mcu_conv_reals_scratch(const vireo_mcu_conv_reals* c) { return (uint32_t)conv_k(c) * kTile * 4; }

static int is_point(const vireo_mcu_conv_reals* c) {
  return c->kernel[0] * c->kernel[1] == 1 && (c->stride[0] | c->stride[1]) == 1 && (c->pad[0] | c->pad[1]) == 0 &&
         c->in[0] == c->out[0] && c->in[1] == c->out[1];
}
/* All channels of a tile are in scratch memory before any is written. */
int vireo_mcu_conv_reals_in_place(const vireo_mcu_conv_reals* c) {
  return is_point(c) && c->groups == 1 && c->in_channels == c->out_channels;
}

/* [k][positions of a tile], where there is one position [k]. */
static void gather(const vireo_mcu_conv_reals* c, const float* x, int32_t first, int32_t count, float* to) {
  const int32_t plane = c->in[0] * c->in[1];
  if (is_point(c) && count == kTile) {
    x += first;
    for (int32_t i = c->in_channels; i > 0; --i, x += plane, to += kTile) memcpy(to, x, kTile * sizeof *to);
    return;
  }
  const int32_t width = count == 1 ? 1 : kTile, k = conv_k(c);
  int32_t oy = mcu_divide(first, c->out[1]), ox = first - oy * c->out[1];
  for (int32_t i = 0; i < width; ++i, ++to) {
    float* at = to;
    if (i >= count) { /* nobody reads their sums */
      for (int32_t n = 0; n < k; ++n, at += width) *at = 0;
      continue;
    }
    const int32_t top = oy * c->stride[0] - c->pad[0], left = ox * c->stride[1] - c->pad[1];
    const float* from = x;
    for (int32_t channel = 0; channel < c->in_channels; ++channel, from += plane) {
      int32_t iy = top;
      for (int32_t ky = c->kernel[0]; ky > 0; --ky, iy += c->dilation[0]) {
        int32_t ix = left;
        const int inside = iy >= 0 && iy < c->in[0];
        for (int32_t kx = c->kernel[1]; kx > 0; --kx, ix += c->dilation[1], at += width)
          *at = inside && ix >= 0 && ix < c->in[1] ? from[iy * c->in[1] + ix] : 0;
      }
    }
    if (++ox == c->out[1]) ox = 0, ++oy;
  }
}

/* Units of one group of one image: 1 + groups of channels for each tile. */
typedef struct {
  const vireo_mcu_conv_reals* conv;
  const float* a; /* rows, where there is no convolution */
} source;
static void fill(const source* s, const float* x, int32_t first, int32_t count, int32_t k, float* tile) {
  if (s->conv != NULL) {
    gather(s->conv, x, first, count, tile);
    return;
  }
  const int32_t width = count == 1 ? 1 : kTile;
  for (int32_t i = 0; i < width; ++i) {
    const float* from = s->a + (first + (i < count ? i : 0)) * k;
    float* to = tile + i;
    for (const float* const end = from + k; from != end; to += width) *to = *from++;
  }
}
static void run_tiles(const product* p, const source* s, const float* x, float* y, float* tile, uint32_t from,
                      uint32_t to) {
  const uint32_t of_tile = 1 + groups_of_4(p->channels);
  uint32_t unit = 0;
  for (int32_t first = 0; first < p->positions; first += kTile, unit += of_tile) {
    if (unit + of_tile <= from) continue;
    if (unit >= to) return;
    const int32_t count = p->positions - first < kTile ? p->positions - first : kTile;
    if (unit >= from) fill(s, x, first, count, p->k, tile);
    uint32_t u = unit + 1 < from ? from : unit + 1;
    for (; u < unit + of_tile && u < to; ++u)
      multiply(p, 4 * (int32_t)(u - unit - 1), count, tile, y + first * p->y_position);
  }
}

void vireo_mcu_conv_reals_run(const vireo_mcu_conv_reals* c, const float* x, const float* w, const float* bias,
                              float* y, float* scratch, vireo_mcu_units units) {
  product p;
  p.k = conv_k(c);
  p.positions = c->out[0] * c->out[1];
  p.channels = c->out_channels;
  p.y_position = 1;
  p.y_channel = p.positions;
  p.bounds = &c->bounds;
  const source s = {c, NULL};
  const int32_t packed = (int32_t)groups_of_4(c->out_channels) * 4 * p.k;
  const uint32_t of_group = units_of(p.positions, p.channels);
  uint32_t unit = 0;
  for (int32_t n = 0; n < c->batch; ++n) {
    for (int32_t g = 0; g < c->groups; ++g, unit += of_group) {
      if (unit + of_group > units.from && unit < units.to) {
        p.w = w + g * packed;
        p.bias = bias != NULL ? bias + g * c->out_channels : NULL;
        const uint32_t from = units.from > unit ? units.from - unit : 0;
        const uint32_t to = units.to - unit < of_group ? units.to - unit : of_group;
        run_tiles(&p, &s, x, y, scratch, from, to);
      }
      x += c->in_channels * c->in[0] * c->in[1];
      y += c->out_channels * p.positions;
    }
  }
}

uint32_t vireo_mcu_gemm_reals_scratch(const vireo_mcu_gemm_reals* g) { return (uint32_t)g->k * kTile * 4; }
uint32_t vireo_mcu_gemm_reals_units(const vireo_mcu_gemm_reals* g) { return units_of(g->m, g->n); }
void vireo_mcu_gemm_reals_run(const vireo_mcu_gemm_reals* g, const float* a, const float* b, const float* bias,
                              float* y, float* scratch, vireo_mcu_units units) {
  const product p = {g->k, g->m, g->n, g->n, 1, b, bias, &g->bounds};
  const source s = {NULL, a};
  const uint32_t all = units_of(g->m, g->n);
  run_tiles(&p, &s, a, y, scratch, units.from, units.to < all ? units.to : all);
}

static uint32_t padded(int32_t channels) { return 4 * groups_of_4(channels); }
uint32_t vireo_mcu_matmul_reals_scratch(const vireo_mcu_matmul_reals* g) {
  return (uint32_t)g->k * 4 * (kTile + padded(g->n));
}
uint32_t vireo_mcu_matmul_reals_units(const vireo_mcu_matmul_reals* g) {
  return (uint32_t)g->batch * (1 + units_of(g->m, g->n));
}
void vireo_mcu_matmul_reals_run(const vireo_mcu_matmul_reals* g, const float* a, const float* b, float* y,
                                float* scratch, vireo_mcu_units units) {
  const vireo_mcu_bounds bounds = {-__builtin_inff(), __builtin_inff()};
  float* const packed = scratch + g->k * kTile;
  const product p = {g->k, g->m, g->n, g->n, 1, packed, NULL, &bounds};
  const uint32_t of_item = 1 + units_of(g->m, g->n);
  uint32_t unit = 0;
  for (int32_t item = 0; item < g->batch; ++item, unit += of_item, a += g->a_step, b += g->b_step, y += g->m * g->n) {
    if (unit + of_item <= units.from) continue;
    if (unit >= units.to) return;
    if (unit >= units.from) {
      float* to = packed;
      for (int32_t c = 0; c < g->n; c += 4) {
        const float* from = b + c;
        for (int32_t i = 0; i < g->k; ++i, from += g->n, to += 4) {
          for (int32_t j = 0; j < 4; ++j) to[j] = c + j < g->n ? from[j] : 0;
        }
      }
    }
    const source s = {NULL, a};
    const uint32_t first = unit + 1;
    run_tiles(&p, &s, a, y, scratch, units.from > first ? units.from - first : 0,
              units.to - first < of_item - 1 ? units.to - first : of_item - 1);
  }
}
