/* Float32 convolutions, products and pools on one core, of random shapes, with infinities and NaNs among the numbers: a
 * hash over the results, which every core has to print. */
#include <stdint.h>
#include <string.h>

#include "delegates/mcu/kernels/reals.h"

#if defined(__arm__) || (defined(__riscv) && !defined(__linux__))
#include "board.h"
#else
#include <stdio.h>
static void board_write(const char* text) { fputs(text, stdout); }
#endif

static float x[4096], y[4096], w[4096], bias[64], scratch[4096];

static uint32_t state = 1;
static uint32_t next(void) { /* Numerical Recipes' linear congruence; its high bits */
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}
static int32_t upto(int32_t most) { return (int32_t)(next() % (uint32_t)most) + 1; }

static uint32_t hash = 2166136261u; /* FNV-1a; NaNs differ in their bits from core to core */
static void add(uint32_t count) {
  for (const float* p = y; count > 0; --count, ++p) {
    uint32_t bits;
    memcpy(&bits, p, 4);
    if (*p != *p) bits = 0x7FC00000u;
    for (int i = 0; i < 32; i += 8) hash = (hash ^ (bits >> i & 255)) * 16777619u;
  }
}

static void fill(int odd) {
  static const uint32_t kOdd[] = {0x80000000u, 0, 0xFFC00000u, 0x7FC00000u, 0xFF800000u, 0x7F800000u};
  for (uint32_t i = 0; i < 4096; ++i) {
    x[i] = (float)((int32_t)(next() & 0xFFFF) - 32768) * 3.0517578125e-5f;
    w[i] = (float)((int32_t)(next() & 0xFFFF) - 32768) * 1.52587890625e-5f;
    if (odd && next() % 64 == 0) memcpy(&x[i], &kOdd[next() % 6], 4);
    if (odd && next() % 4 == 0) w[i] = 0;
    y[i] = 0;
  }
  for (uint32_t i = 0; i < 64; ++i) bias[i] = next() % 4 == 0 ? -0.0f : (float)(next() & 255) * 0.0078125f - 1;
}
static vireo_mcu_bounds any_bounds(void) {
  const float none = __builtin_inff();
  const vireo_mcu_bounds all[] = {{-none, none}, {0, none}, {0, 0.5f}, {-0.25f, none}, {-none, 0.25f}, {-0.5f, 0.75f}};
  return all[next() % 6];
}
/* Two parts of the units, one after the other. */
static void parts_of(uint32_t units, vireo_mcu_units* first, vireo_mcu_units* second) {
  first->from = 0, first->to = next() % (units + 1);
  second->from = first->to, second->to = VIREO_MCU_ALL_UNITS;
}

static void one_conv(int i) {
  vireo_mcu_conv_reals c;
  memset(&c, 0, sizeof c);
  const int each = i % 2 == 0;
  c.batch = upto(2), c.groups = each ? upto(5) : upto(2);
  c.in_channels = each ? 1 : upto(i % 3 == 0 ? 40 : 9), c.out_channels = each ? upto(2) : upto(14);
  const int32_t form = upto(3);
  for (int a = 0; a < 2; ++a) {
    c.kernel[a] = form == 1 && !each ? 1 : form < 3 ? 3 : upto(4);
    c.stride[a] = form < 3 ? 1 : upto(2), c.dilation[a] = form < 3 ? 1 : upto(2);
    c.pad[a] = form < 3 ? c.kernel[a] / 2 : upto(3) - 1;
    c.in[a] = c.kernel[a] * c.dilation[a] + upto(8);
    c.out[a] = (c.in[a] + 2 * c.pad[a] - (c.kernel[a] - 1) * c.dilation[a] - 1) / c.stride[a] + 1;
  }
  c.bounds = any_bounds();
  const int32_t k = c.in_channels * c.kernel[0] * c.kernel[1], channels = c.groups * c.out_channels;
  const uint32_t bytes = each ? vireo_mcu_depthwise_reals_scratch(&c) : vireo_mcu_conv_reals_scratch(&c);
  if (c.batch * c.groups * c.in_channels * c.in[0] * c.in[1] > 4096 ||
      c.batch * channels * c.out[0] * c.out[1] > 4096 || c.groups * (c.out_channels + 3) * k > 4096 ||
      bytes > sizeof scratch)
    return;
  fill(i % 3 == 0);
  const float* const b = (next() & 7) != 0 ? bias : NULL;
  vireo_mcu_units part[2];
  parts_of(each ? vireo_mcu_depthwise_reals_units(&c) : vireo_mcu_conv_reals_units(&c), &part[0], &part[1]);
  for (int n = 0; n < 2; ++n) {
    if (each) {
      vireo_mcu_depthwise_reals_run(&c, x, w, b, y, scratch, part[n]);
    } else {
      vireo_mcu_conv_reals_run(&c, x, w, b, y, scratch, part[n]);
    }
  }
  add((uint32_t)(c.batch * channels * c.out[0] * c.out[1]));
}

static void one_gemm(int i) {
  const vireo_mcu_gemm_reals g = {upto(9), upto(11), upto(i % 3 == 0 ? 250 : 20), any_bounds()};
  fill(i % 4 == 0);
  vireo_mcu_units part[2];
  parts_of(vireo_mcu_gemm_reals_units(&g), &part[0], &part[1]);
  for (int n = 0; n < 2; ++n) vireo_mcu_gemm_reals_run(&g, x, w, (next() & 3) != 0 ? bias : NULL, y, scratch, part[n]);
  add((uint32_t)(g.m * g.n));
}

static void one_pool(int i) {
  vireo_mcu_pool_reals p;
  memset(&p, 0, sizeof p);
  p.planes = upto(9), p.count_padding = (int32_t)(next() & 1);
  for (int a = 0; a < 2; ++a) {
    p.in[a] = upto(12), p.kernel[a] = i % 4 == 0 ? p.in[a] : upto(p.in[a] < 5 ? p.in[a] : 5);
    p.stride[a] = upto(3), p.dilation[a] = 1 + (p.kernel[a] * 2 <= p.in[a] && (next() & 1) != 0);
    if (p.kernel[a] > 1) p.pad[a] = (int32_t)(next() & 1), p.pad_end[a] = (int32_t)(next() & 1);
    p.out[a] = (p.in[a] + p.pad[a] + p.pad_end[a] - (p.kernel[a] - 1) * p.dilation[a] - 1) / p.stride[a] + 1;
  }
  fill(i % 3 == 0);
  vireo_mcu_units part[2];
  parts_of((uint32_t)p.planes, &part[0], &part[1]);
  for (int n = 0; n < 2; ++n) (i % 2 == 0 ? vireo_mcu_average_reals : vireo_mcu_max_reals)(&p, x, y, part[n]);
  add((uint32_t)(p.planes * p.out[0] * p.out[1]));
}

int main(void) {
  for (int i = 0; i < 400; ++i) one_conv(i);
  for (int i = 0; i < 150; ++i) one_gemm(i);
  for (int i = 0; i < 100; ++i) one_pool(i);
  char digits[] = "shapes 00000000\n";
  for (int i = 0; i < 8; ++i) digits[7 + i] = "0123456789ABCDEF"[hash >> (28 - 4 * i) & 15];
  board_write(digits);
  return 0;
}
