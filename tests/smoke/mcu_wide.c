/* Convolutions and products of codes of 16 bits on one core, of random shapes: a hash over the results, which every
 * core has to print. */
#include <stdint.h>
#include <string.h>

#include "delegates/mcu/kernels/wide.h"

#if defined(__arm__) || (defined(__riscv) && !defined(__linux__))
#include "board.h"
#else
#include <stdio.h>
static void board_write(const char* text) { fputs(text, stdout); }
#endif

static uint16_t x[4096], y[4096];
static int8_t w[4096], zeros[64];
static float m[64];
static int32_t bias[64];
static uint64_t scratch[2048];

static uint32_t state = 1;
static uint32_t next(void) { /* Numerical Recipes' linear congruence; its high bits */
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}
static int32_t upto(int32_t most) { return (int32_t)(next() % (uint32_t)most) + 1; }

static uint32_t hash = 2166136261u; /* FNV-1a */
static void add(const void* bytes, uint32_t count) {
  for (const uint8_t* p = bytes; count > 0; --count) hash = (hash ^ *p++) * 16777619u;
}

/* Multipliers by which sums of k products fill most of the codes. */
static void fill(int32_t channels, int32_t k, int far) {
  for (uint32_t i = 0; i < sizeof x / 2; ++i) x[i] = (uint16_t)(next() >> 2);
  for (uint32_t i = 0; i < sizeof w; ++i) w[i] = (int8_t)(next() >> 5);
  for (int32_t c = 0; c < channels; ++c) {
    m[c] = (float)upto(65536) / (8388608.0f * (float)(k > 16 ? 32 : 8));
    bias[c] = (int32_t)(next() << 8) >> (far ? 0 : 8);
    zeros[c] = (int8_t)(next() >> 7);
  }
}
static vireo_mcu_codes codes_of(uint8_t type) {
  const int32_t low = type == VIREO_MCU_I16 ? -32768 : type == VIREO_MCU_I8 ? -128 : 0;
  const int32_t high = low + (type >= VIREO_MCU_I16 ? 65535 : 255);
  const vireo_mcu_codes all = {low + (int32_t)(next() % 256), low, high}, some = {low + 7, low + 20, high - 90};
  return (next() & 3) == 0 ? some : all;
}
static uint8_t any_type(void) { return (next() & 1) != 0 ? VIREO_MCU_I16 : (uint8_t)(next() & 3); }
/* Whole, or half of its units and then the others. */
static void both_halves(uint32_t units, vireo_mcu_units* first, vireo_mcu_units* second) {
  first->from = 0, first->to = units / 2;
  second->from = units / 2, second->to = VIREO_MCU_ALL_UNITS;
}

static void one_conv(int i) {
  vireo_mcu_conv_wide c;
  memset(&c, 0, sizeof c);
  const int each = i % 2 == 0;
  c.batch = upto(2), c.groups = each ? upto(5) : upto(2);
  c.in_channels = each ? 1 : upto(i % 3 == 0 ? 40 : 9), c.out_channels = each ? 1 : upto(7);
  const int32_t form = upto(3);
  for (int a = 0; a < 2; ++a) {
    c.kernel[a] = form == 1 ? 1 : form == 2 ? 3 : upto(4);
    c.stride[a] = form < 3 ? 1 : upto(2), c.dilation[a] = form < 3 ? 1 : upto(2),
    c.pad[a] = form < 3 ? c.kernel[a] / 2 : upto(3) - 1;
    c.in[a] = c.kernel[a] * c.dilation[a] + upto(8);
    c.out[a] = (c.in[a] + 2 * c.pad[a] - (c.kernel[a] - 1) * c.dilation[a] - 1) / c.stride[a] + 1;
  }
  const int32_t k = c.in_channels * c.kernel[0] * c.kernel[1], channels = c.groups * c.out_channels;
  if (c.batch * c.groups * c.in_channels * c.in[0] * c.in[1] > 4096 ||
      c.batch * channels * c.out[0] * c.out[1] > 4096 || channels * k > 4096)
    return;
  fill(channels, k, i % 7 == 0);
  c.x_type = any_type(), c.y_type = any_type();
  c.x_zero = (next() & 1) != 0 ? 0 : (int32_t)(next() % 256) - (c.x_type == VIREO_MCU_I8 ? 128 : 0);
  c.codes = codes_of(c.y_type);
  c.one_multiplier = (next() & 1) != 0, c.one_w_zero = (next() & 1) != 0;
  const int8_t* const w_zero = (next() & 3) == 0 ? zeros : NULL;
  vireo_mcu_units first, second;
  both_halves(vireo_mcu_conv_wide_units(&c), &first, &second);
  if (vireo_mcu_conv_wide_scratch(&c) > sizeof scratch) return;
  vireo_mcu_conv_wide_run(&c, x, w, m, (next() & 7) != 0 ? bias : NULL, w_zero, y, scratch, first);
  vireo_mcu_conv_wide_run(&c, x, w, m, bias, w_zero, y, scratch, second);
  add(y, (uint32_t)(c.batch * channels * c.out[0] * c.out[1]) * (c.y_type >= VIREO_MCU_I16 ? 2 : 1));
}

static void one_gemm(int i) {
  vireo_mcu_gemm_wide g;
  memset(&g, 0, sizeof g);
  g.m = upto(9), g.n = upto(11), g.k = upto(i % 3 == 0 ? 350 : 40);
  fill(g.n, g.k, i % 5 == 0);
  g.a_type = any_type(), g.y_type = any_type();
  g.a_zero = (next() & 1) != 0 ? 0 : 77;
  g.codes = codes_of(g.y_type);
  g.one_b_zero = 1;
  vireo_mcu_units first, second;
  both_halves(vireo_mcu_gemm_wide_units(&g), &first, &second);
  const int8_t* const zero = (next() & 3) == 0 ? zeros : NULL;
  if (vireo_mcu_gemm_wide_scratch(&g) > sizeof scratch) return;
  vireo_mcu_gemm_wide_run(&g, x, w, m, bias, zero, y, scratch, first);
  vireo_mcu_gemm_wide_run(&g, x, w, m, bias, zero, y, scratch, second);
  add(y, (uint32_t)(g.m * g.n) * (g.y_type >= VIREO_MCU_I16 ? 2 : 1));
}

int main(void) {
  for (int i = 0; i < 400; ++i) one_conv(i);
  for (int i = 0; i < 100; ++i) one_gemm(i);
  char digits[] = "wide 00000000\n";
  for (int i = 0; i < 8; ++i) digits[5 + i] = "0123456789ABCDEF"[hash >> (28 - 4 * i) & 15];
  board_write(digits);
  return 0;
}
