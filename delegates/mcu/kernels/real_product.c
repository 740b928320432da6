/* Products of float32: reals.h says in which order. */
#include <stddef.h>
#include <string.h>

#include "delegates/mcu/kernels/lanes.h"
#include "delegates/mcu/kernels/real_bits.h"

enum { kTile = 4 };

/* [groups of 4 channels][4 channels][4 positions] of k >= 1 products and a bias, at least 0 if `relu`; channels are
 * `step` elements apart in y. And one position of 4 channels, without a bound. */
#if VIREO_MCU_REALS_ASM
/* 33.5 instructions for 16 products: 16 sums, 4 of x, 8 of w and 4 products take all 32 registers. A product and a sum
 * take a cycle each, vmla three, on a Cortex-M4. A sum follows its product by 4 instructions, so that none waits. */
#define MUL(y0, y1, y2, y3, v)                                                                                    \
  "vmul.f32 " y0 ", " v ", s24\n vmul.f32 " y1 ", " v ", s25\n vmul.f32 " y2 ", " v ", s26\n vmul.f32 " y3 ", " v \
  ", s27\n"
#define ADD(y0, y1, y2, y3)                                                                                           \
  "vadd.f32 " y0 ", " y0 ", s28\n vadd.f32 " y1 ", " y1 ", s29\n vadd.f32 " y2 ", " y2 ", s30\n vadd.f32 " y3 ", " y3 \
  ", s31\n"
#define SUM(y0, y1, y2, y3, v) MUL("s28", "s29", "s30", "s31", v) ADD(y0, y1, y2, y3)
#define STEP(w0, w1, w2, w3)                                                                  \
  "vldmia %[x]!, {s24-s27}\n" SUM("s0", "s1", "s2", "s3", w0) SUM("s4", "s5", "s6", "s7", w1) \
      SUM("s8", "s9", "s10", "s11", w2) SUM("s12", "s13", "s14", "s15", w3)
#define ONE_STEP "vldmia %[w]!, {s16-s19}\n" STEP("s16", "s17", "s18", "s19")
#define TWO_STEPS "vldmia %[w]!, {s16-s23}\n" STEP("s16", "s17", "s18", "s19") STEP("s20", "s21", "s22", "s23")
#define BIAS(y0, y1, y2, y3, b)                                                                                     \
  "vadd.f32 " y0 ", " y0 ", " b "\n vadd.f32 " y1 ", " y1 ", " b "\n vadd.f32 " y2 ", " y2 ", " b "\n vadd.f32 " y3 \
  ", " y3 ", " b "\n"
#define STORE(all) "vstmia %[y], {" all "}\n add %[y], %[step]\n"
/* As words: a sign clears all bits. */
#define SIGN(r) "bic " r ", " r ", " r ", asr #31\n"
#define RELU(y0, y1, y2, y3)                                                                     \
  "vmov r0, r1, " y0 ", " y1 "\n vmov r2, r3, " y2 ", " y3 "\n" SIGN("r0") SIGN("r1") SIGN("r2") \
      SIGN("r3") "stmia %[y], {r0-r3}\n add %[y], %[step]\n"
enum { kTwoStepsBytes = 4 * 67 }; /* of code */
static void sum_tiles(const float* x, int32_t k, const float* w, const float* bias, int32_t groups, int relu, float* y,
                      int32_t step) {
  /* Groups that follow, whether k is even, and whether a bound is 0. The first step has products alone, then comes one
   * where k is even, then a loop of four times two, which is entered where all that follow end with its end. */
  int32_t left = 4 * (groups - 1) + 2 * (k % 2 == 0) + relu;
  register const float* at __asm__("r0");
  uint32_t entry = (uint32_t)(-((k - 1) >> 1) & 3) * kTwoStepsBytes + 1;
  const uint32_t was = mcu_plain_nans();
  __asm__ volatile(
      "adr.w r1, 4f\n add %[entry], r1\n"
      "1:\n mov %[x], %[start]\n vldmia %[x]!, {s24-s27}\n vldmia %[w]!, {s16-s19}\n" MUL("s0", "s1", "s2", "s3", "s16")
          MUL("s4", "s5", "s6", "s7", "s17") MUL("s8", "s9", "s10", "s11", "s18")
              MUL("s12", "s13", "s14", "s15",
                  "s19") "tst %[left], #2\n beq 3f\n" ONE_STEP
                         "3:\n cmp %[x], %[all]\n beq 5f\n bx %[entry]\n 4:\n" TWO_STEPS TWO_STEPS TWO_STEPS TWO_STEPS
                         "cmp %[x], %[all]\n bne 4b\n 5:\n vldmia %[bias]!, {s16-s19}\n tst %[left], #1\n" BIAS(
                             "s0", "s1", "s2", "s3", "s16") BIAS("s4", "s5", "s6", "s7", "s17")
                             BIAS("s8", "s9", "s10", "s11", "s18")
                                 BIAS("s12", "s13", "s14", "s15", "s19") "bne 6f\n" STORE("s0-s3") STORE("s4-s7")
                                     STORE("s8-s11") STORE("s12-s15") "b 7f\n 6:\n" RELU("s0", "s1", "s2", "s3")
                                         RELU("s4", "s5", "s6", "s7") RELU("s8", "s9", "s10", "s11")
                                             RELU("s12", "s13", "s14", "s15") "7:\n subs %[left], #4\n bge 1b\n"
      : [x] "=&r"(at), [w] "+r"(w), [bias] "+r"(bias), [y] "+r"(y), [left] "+r"(left), [entry] "+r"(entry)
      : [start] "r"(x), [all] "r"(x + 4 * k), [step] "r"(4 * step)
      : "cc", "memory", "r1", "r2", "r3", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11",
        "s12", "s13", "s14", "s15", "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27",
        "s28", "s29", "s30", "s31");
  mcu_set_nans(was);
}

/* 20 instructions for 8 products. */
#define LINE(v, w0, w1, w2, w3)                                                                                    \
  "vmul.f32 s4, " v ", " w0 "\n vmul.f32 s5, " v ", " w1 "\n vmul.f32 s6, " v ", " w2 "\n vmul.f32 s7, " v ", " w3 \
  "\n vadd.f32 s0, s0, s4\n vadd.f32 s1, s1, s5\n vadd.f32 s2, s2, s6\n vadd.f32 s3, s3, s7\n"
static void sum_line(const float* x, const float* w, int32_t k, const float* bias, float* sums) {
  const float* const end = x + k;
  __asm__ volatile(
      "vldmia %[x]!, {s8}\n vldmia %[w]!, {s16-s19}\n vmul.f32 s0, s8, s16\n vmul.f32 s1, s8, s17\n"
      "vmul.f32 s2, s8, s18\n vmul.f32 s3, s8, s19\n tst %[k], #1\n bne 1f\n"
      "vldmia %[x]!, {s8}\n vldmia %[w]!, {s16-s19}\n" LINE("s8", "s16", "s17", "s18", "s19")
      "1:\n cmp %[x], %[end]\n beq 3f\n 2:\n vldmia %[x]!, {s8-s9}\n vldmia %[w]!, {s16-s23}\n"
      LINE("s8", "s16", "s17", "s18", "s19") LINE("s9", "s20", "s21", "s22", "s23") "cmp %[x], %[end]\n bne 2b\n 3:\n"
      "vldmia %[bias], {s16-s19}\n vadd.f32 s0, s0, s16\n vadd.f32 s1, s1, s17\n vadd.f32 s2, s2, s18\n"
      "vadd.f32 s3, s3, s19\n vstmia %[sums], {s0-s3}\n"
      : [x] "+r"(x), [w] "+r"(w)
      : [k] "r"(k), [end] "r"(end), [bias] "r"(bias), [sums] "r"(sums)
      : "cc", "memory", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s16", "s17", "s18", "s19", "s20",
        "s21", "s22", "s23");
}
#else
/* Compilers move all 16 products to the front, where there are too few registers for them; not across this. */
#if defined(__riscv_flen) && defined(__OPTIMIZE__)
#define BEHIND(sum, v) __asm__ volatile("" : "+f"(sum), "+f"(v) : : "memory")
#else
#define BEHIND(sum, v) (void)0
#endif
#define ROW(s, v) s##0 += (v)*w0, s##1 += (v)*w1, s##2 += (v)*w2, s##3 += (v)*w3
#define STEP(i)                                                  \
  do {                                                           \
    w0 = w[4 * (i)], w1 = w[4 * (i) + 1], w2 = w[4 * (i) + 2];   \
    w3 = w[4 * (i) + 3], v0 = at[4 * (i)], v1 = at[4 * (i) + 1]; \
    v2 = at[4 * (i) + 2], v3 = at[4 * (i) + 3];                  \
    ROW(a, v0);                                                  \
    BEHIND(a3, v1);                                              \
    ROW(b, v1);                                                  \
    BEHIND(b3, v2);                                              \
    ROW(c, v2);                                                  \
    BEHIND(c3, v3);                                              \
    ROW(d, v3);                                                  \
  } while (0)
#define PUT(at, s, add)                                                                     \
  do {                                                                                      \
    const float p0 = a##s + (add), p1 = b##s + (add), p2 = c##s + (add), p3 = d##s + (add); \
    float* const to = y + (at)*step;                                                        \
    to[0] = relu ? mcu_at_least(p0, 0) : p0, to[1] = relu ? mcu_at_least(p1, 0) : p1;       \
    to[2] = relu ? mcu_at_least(p2, 0) : p2, to[3] = relu ? mcu_at_least(p3, 0) : p3;       \
  } while (0)
static void sum_tiles(const float* x, int32_t k, const float* w, const float* bias, int32_t groups, int relu, float* y,
                      int32_t step) {
  const float* const end = x + 4 * k;
  for (; groups > 0; --groups, bias += 4, y += 4 * step) {
    const float* at = x;
    float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], v0 = x[0], v1 = x[1], v2 = x[2], v3 = x[3];
    float a0 = v0 * w0, a1 = v0 * w1, a2 = v0 * w2, a3 = v0 * w3, b0 = v1 * w0, b1 = v1 * w1, b2 = v1 * w2;
    float b3 = v1 * w3, c0 = v2 * w0, c1 = v2 * w1, c2 = v2 * w2, c3 = v2 * w3, d0 = v3 * w0, d1 = v3 * w1;
    float d2 = v3 * w2, d3 = v3 * w3;
    w += 4, at += 4;
    if (k % 2 == 0) {
      STEP(0);
      w += 4, at += 4;
    }
    for (; at != end; at += 8, w += 8) {
      STEP(0);
      BEHIND(d3, a0);
      STEP(1);
    }
    PUT(0, 0, bias[0]);
    PUT(1, 1, bias[1]);
    PUT(2, 2, bias[2]);
    PUT(3, 3, bias[3]);
  }
}
static void sum_line(const float* x, const float* w, int32_t k, const float* bias, float* sums) {
  float v = *x, a = v * w[0], b = v * w[1], c = v * w[2], d = v * w[3];
  for (const float* const end = x + k; ++x != end;) {
    w += 4, v = *x;
    a += v * w[0], b += v * w[1], c += v * w[2], d += v * w[3];
  }
  sums[0] = a + bias[0], sums[1] = b + bias[1], sums[2] = c + bias[2], sums[3] = d + bias[3];
}
#endif

/* Where a product's tiles lie. */
typedef struct {
  int32_t k, positions, channels;
  int32_t y_position, y_channel;
  const float *w, *bias;
  const vireo_mcu_bounds* bounds;
} product;

/* Channels of one group, or the last positions: by way of an array. */
static void multiply_some(const product* p, int32_t c, int32_t count, const float* tile, float* y) {
  float sums[16], bias[4] = {0, 0, 0, 0};
  const float* const w = p->w + c * p->k;
  const int32_t channels = p->channels - c < 4 ? p->channels - c : 4, width = count == 1 ? 1 : kTile;
  for (int32_t j = 0; p->bias != NULL && j < channels; ++j) bias[j] = p->bias[c + j];
  if (count == 1) {
    sum_line(tile, w, p->k, bias, sums);
  } else {
    sum_tiles(tile, p->k, w, bias, 1, mcu_is_relu(p->bounds), sums, kTile);
  }
  if (count == 1 || mcu_has_bounds(p->bounds)) {
    for (int32_t i = 0; i < 4 * width; ++i) sums[i] = mcu_bounded(sums[i], p->bounds);
  }
  const int32_t to_channel = p->y_channel, to_position = p->y_position;
  y += c * to_channel;
  for (const float *s = sums, *const end = sums + channels * width; s != end; s += width, y += to_channel) {
    float* to = y;
    for (int32_t i = 0; i < count; ++i, to += to_position) *to = s[i];
  }
}

/* Groups of four channels, of the tile in scratch memory. y: of channel 0 at its first position. */
static void multiply(const product* p, int32_t group, int32_t end, int32_t count, const float* tile, float* y) {
  const int32_t whole = p->channels / 4 < end ? p->channels / 4 : end;
  if (count == kTile && p->y_position == 1 && p->bias != NULL && group < whole) {
    float* to = y + 4 * group * p->y_channel;
    sum_tiles(tile, p->k, p->w + 4 * group * p->k, p->bias + 4 * group, whole - group, mcu_is_relu(p->bounds), to,
              p->y_channel);
    if (mcu_has_bounds(p->bounds)) {
      for (int32_t c = 4 * group; c < 4 * whole; ++c, to += p->y_channel) {
        for (int32_t i = 0; i < kTile; ++i) to[i] = mcu_bounded(to[i], p->bounds);
      }
    }
    group = whole;
  }
  for (; group < end; ++group) multiply_some(p, 4 * group, count, tile, y);
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
  const int32_t plane = c->in[0] * c->in[1], row = c->in[1], right = c->dilation[1], columns = c->kernel[1];
  if (is_point(c) && count == kTile) {
    x += first;
    for (int32_t i = c->in_channels; i != 0; --i, x += plane - kTile) MCU_COPY_FOUR(to, x);
    return;
  }
  const int32_t width = count == 1 ? 1 : kTile;
  if (count < width) memset(to, 0, (uint32_t)conv_k(c) * kTile * sizeof *to); /* nobody reads their sums */
  int32_t oy = mcu_divide(first, c->out[1]), ox = first - oy * c->out[1];
  for (int32_t i = 0; i < count; ++i, ++to) {
    float* at = to;
    const int32_t top = oy * c->stride[0] - c->pad[0], left = ox * c->stride[1] - c->pad[1];
    /* Taps inside of a row, from `begin` on: before and behind them is the padding. */
    int32_t begin = 0, end = columns;
    while (begin < end && left + begin * right < 0) ++begin;
    while (end > begin && left + (end - 1) * right >= row) --end;
    const float* from = x;
    for (int32_t channel = 0; channel < c->in_channels; ++channel, from += plane) {
      int32_t iy = top;
      for (int32_t ky = c->kernel[0]; ky > 0; --ky, iy += c->dilation[0]) {
        int32_t kx = 0;
        if (iy >= 0 && iy < c->in[0]) {
          for (; kx < begin; ++kx, at += width) *at = 0;
          const float* tap = from + (iy * row + left + kx * right);
          if (right == 1 && width == kTile) {
            for (const float* const last = tap + (end - kx); tap != last; at += kTile) *at = *tap++;
            kx = end;
          } else {
            for (; kx < end; ++kx, at += width, tap += right) *at = *tap;
          }
        }
        for (; kx < columns; ++kx, at += width) *at = 0;
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
    const uint32_t u = unit + 1 < from ? from : unit + 1, end = unit + of_tile < to ? unit + of_tile : to;
    if (u < end)
      multiply(p, (int32_t)(u - unit - 1), (int32_t)(end - unit - 1), count, tile, y + first * p->y_position);
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
