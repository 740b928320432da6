/* The kernels of delegates/mcu on one core: a hash over results that every core has to print, and the nine
 * convolutions of an int8 keyword spotter (MLPerf Tiny's shape, 2.66 million products) between two functions that
 * counter.c looks for.
 * No runtime, no heap: what a firmware needs that copies the kernels. */
#include <stdint.h>
#include <string.h>

#include "delegates/mcu/kernels/codes.h"
#include "delegates/mcu/kernels/depthwise.h"
#include "delegates/mcu/kernels/pool.h"
#include "delegates/mcu/kernels/product.h"

#if defined(__arm__) && !defined(__linux__)
#include "toolchains/cortex-m/board.h"
#define PRINT(text) board_write(text)
#define PRINT_NUMBER(n) board_write_u32(n)
#else
#include <stdio.h>
#define PRINT(text) fputs(text, stdout)
#define PRINT_NUMBER(n) printf("%lu", (unsigned long)(n))
#endif

void count_begin(void);
void count_end(void);
__attribute__((noinline)) void count_begin(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void count_end(void) { __asm__ volatile("" ::: "memory"); }

static uint8_t a[16384], b[16384], weights[8192];
static uint32_t scratch[2560];
static float multipliers[512], reals[512];
static int32_t bias[256], table[256];
static int8_t zeros[256];

static uint32_t state = 1;
static uint32_t next(void) { /* Numerical Recipes' linear congruence; its high bits */
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}
static int32_t upto(int32_t most) { return (int32_t)(next() % (uint32_t)most) + 1; }
static void fill(uint8_t* to, int32_t count) {
  for (int32_t i = 0; i < count; ++i) to[i] = (uint8_t)(next() >> 4);
}

static uint32_t hash = 2166136261u; /* FNV-1a */
static void add(const void* bytes, uint32_t count) {
  for (const uint8_t* p = bytes; count > 0; --count) hash = (hash ^ *p++) * 16777619u;
}

static vireo_mcu_codes any_codes(uint8_t flip) {
  const int32_t low = flip ? 0 : -128;
  vireo_mcu_codes c = {low, low, low + 255};
  c.zero += (int32_t)(next() & 255);
  if ((next() & 3) == 0) {
    c.low += upto(100);
    c.high -= upto(100);
  }
  return c;
}

static void one_conv(int i) {
  vireo_mcu_conv c;
  memset(&c, 0, sizeof c);
  const int depthwise = i % 3 == 0;
  c.batch = 1;
  c.groups = depthwise ? upto(4) + 1 : i % 7 == 1 ? 2 : 1;
  c.in_channels = depthwise ? 1 : upto(20);
  c.out_channels = upto(depthwise ? 2 : 9);
  c.last = (uint8_t)(next() & 1);
  for (int d = 0; d < 2; ++d) {
    c.kernel[d] = i % 4 == 1 ? 1 : i % 4 == 3 ? 3 : upto(4);
    c.stride[d] = i % 8 == 1 ? 1 : upto(2);
    c.dilation[d] = i % 4 == 0 ? upto(2) : 1;
    c.pad[d] = c.kernel[d] == 1 ? 0 : upto(c.kernel[d]) - 1;
    c.in[d] = (c.kernel[d] - 1) * c.dilation[d] + upto(9);
    c.out[d] = (c.in[d] + c.pad[d] - (c.kernel[d] - 1) * c.dilation[d] - 1) / c.stride[d] + 1;
  }
  c.x_zero = (uint8_t)next();
  c.x_flip = next() & 1 ? 0x80 : 0;
  c.y_flip = next() & 1 ? 0x80 : 0;
  c.codes = any_codes(c.y_flip);
  c.w_nibbles = !depthwise && i % 5 == 2;
  c.one_multiplier = i % 6 == 5;
  c.one_w_zero = (uint8_t)(next() & 1);
  const int32_t y = c.groups * c.out_channels * c.out[0] * c.out[1];
  const int8_t* const w_zero = i % 4 == 2 ? zeros : NULL;
  const int32_t* const biases = i % 9 == 0 ? NULL : bias;
  if (depthwise) {
    vireo_mcu_depthwise_run(&c, a, weights, multipliers, biases, w_zero, b, scratch);
  } else {
    vireo_mcu_conv_run(&c, a, weights, multipliers, biases, w_zero, b, scratch);
  }
  add(b, (uint32_t)y);
}

static void all_kernels(void) {
  for (int i = 0; i < 256; ++i) {
    multipliers[i] = (float)(1 + (next() & 0xFFFF)) / 16777216.0f;
    bias[i] = (int32_t)(next() & 0xFFFF) - 32768;
    zeros[i] = (int8_t)(uint8_t)next();
    table[i] = (1 << 23) >> (i / 11);
  }
  for (int i = 0; i < 120; ++i) {
    fill(a, 4096);
    fill(weights, 2048);
    one_conv(i);
    vireo_mcu_gemm g;
    memset(&g, 0, sizeof g);
    g.m = upto(7);
    g.n = upto(9);
    g.k = upto(50);
    g.y_flip = i & 1 ? 0x80 : 0;
    g.codes = any_codes(g.y_flip);
    g.a_zero = (uint8_t)next();
    g.a_flip = i & 2 ? 0x80 : 0;
    g.b_flip = i & 4 ? 0x80 : 0;
    g.one_multiplier = i % 5 == 0;
    g.one_b_zero = 1;
    vireo_mcu_gemm_run(&g, a, weights, multipliers, bias, i % 3 == 0 ? zeros : NULL, b, scratch);
    add(b, (uint32_t)(g.m * g.n));
  }
  fill(a, 1024);
  vireo_mcu_pool p = {1, 3, {7, 9}, {4, 4}, {3, 3}, {2, 2}, {1, 1}, {1, 0}, {1, 0}, {3, -128, 127}, 5, 0, 0, 0, 0};
  for (int i = 0; i < 8; ++i) {
    p.last = (uint8_t)(i & 1), p.count_padding = (uint8_t)(i >> 1 & 1), p.x_flip = i & 4 ? 0x80 : 0;
    for (int k = 0; k < 10; ++k) reals[k] = 0.9f / (float)(k + 1);
    vireo_mcu_average(&p, a, reals, b), add(b, 48);
    vireo_mcu_max(&p, a, b), add(b, 48);
  }
  vireo_mcu_binary f = {2, 300, 300, 1, 0, 1, 7, 0, 9, 0x80, 0.71f, -0.33f, {3, -128, 127}};
  vireo_mcu_add(&f, a, a + 512, b), add(b, 600);
  f.a_multiplier = 0.013f;
  vireo_mcu_mul(&f, a, a + 512, b), add(b, 600);
  vireo_mcu_table(a + 256, a, 256, b), add(b, 256);
  const vireo_mcu_softmax s = {2, 100, 3, 0, 256.0f, {-128, -128, 127}};
  vireo_mcu_softmax_run(&s, a, table, b), add(b, 600);
  for (int i = 0; i < 512; ++i) reals[i] = ((float)(next() & 0xFFFF) - 32768.0f) / 512.0f;
  vireo_mcu_quantize(reals, 512, 0.25f, &f.codes, b), add(b, 512);
  vireo_mcu_dequantize(b, 512, 0, 3, 0.0625f, reals), add(reals, sizeof reals);
}

/* Half of the sums near a half; multipliers of every size that a network has. */
static void last_step(void) {
  const vireo_mcu_codes codes = {-3, -128, 127};
  for (int i = 0; i < 60000; ++i) {
    uint32_t bits = (100u + next() % 28) << 23; /* one call of next() a statement: C leaves their order open */
    bits |= next() & 0x7FFFFF;
    const int32_t scale = 149 - (int32_t)(bits >> 23), mantissa = (int32_t)((bits & 0x7FFFFF) | 0x800000);
    float m;
    int32_t sum = (int32_t)(next() << 8);
    sum >>= next() & 31;
    memcpy(&m, &bits, 4);
    if (i & 1) { /* (k + 1/2) / m, rounded down */
      const int64_t half = ((int64_t)(next() & 255) - 128) * 2 + 1;
      const int64_t near = scale < 40 ? half * ((int64_t)1 << scale) / mantissa : 0;
      if (near > -2000000000 && near < 2000000000) sum = (int32_t)near + (int32_t)(next() & 3) - 1;
    }
    const uint32_t most = (sum < 0 ? 0u - (uint32_t)sum : (uint32_t)sum) + (next() & 0xFFFF);
    mcu_multiplier apart;
    mcu_make_ready(&apart, m, most, &codes);
    const int8_t both[2] = {(int8_t)mcu_requantize(sum, m, &codes), (int8_t)mcu_requantize_by(sum, &apart, &codes)};
    add(both, 2);
  }
}

static const vireo_mcu_conv kFirst = {
    1, 1, 1, 64, {49, 10}, {25, 5}, {10, 4}, {2, 2}, {1, 1}, {5, 1}, {-128, -128, 127}, 0x83, 0, 0, 0, 0, 0, 0};
static const vireo_mcu_conv kDepthwise = {
    1, 64, 1, 1, {25, 5}, {25, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {-128, -128, 127}, 0x80, 0, 0, 0, 0, 0, 0};
static const vireo_mcu_conv kPoint = {
    1, 1, 64, 64, {25, 5}, {25, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {-128, -128, 127}, 0x80, 0, 0, 0, 0, 0, 0};

static void keyword_spotter(void) {
  fill(a, 490);
  fill(weights, 4096);
  for (int i = 0; i < 64; ++i) multipliers[i] = 0.002f + (float)i / 65536.0f;
  count_begin();
  vireo_mcu_conv_run(&kFirst, a, weights, multipliers, bias, NULL, b, scratch);
  for (int i = 0; i < 4; ++i) {
    vireo_mcu_depthwise_run(&kDepthwise, b, weights + 128 * i, multipliers, bias, NULL, a, scratch);
    vireo_mcu_conv_run(&kPoint, a, weights, multipliers, bias, NULL, b, scratch);
  }
  count_end();
  add(b, 8000);
}

int main(void) {
  if (vireo_mcu_conv_scratch(&kPoint) > sizeof scratch || vireo_mcu_depthwise_scratch(&kDepthwise) > sizeof scratch)
    return 1;
  all_kernels();
  last_step();
  keyword_spotter();
  PRINT("hash ");
  PRINT_NUMBER(hash);
  PRINT("\n");
  return 0;
}
