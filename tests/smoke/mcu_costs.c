/* The layers of cost_cases.cc by the executor's kernels, each between two calls of count_mark. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "board.h"
#include "cost_cases.h"
#include "delegates/mcu/plan/call.h"

void count_mark(void);
__attribute__((noinline)) void count_mark(void) { __asm__ volatile("" ::: "memory"); }

static uint64_t memory[20000];

/* 1 / (24 sqrt(k)), roughly, without a library: sums fill most of the codes. */
static float multiplier_of(int32_t k) {
  uint32_t bits, root = 1;
  float m = 0.015625f;
  while (root * root < (uint32_t)k) root *= 2;
  memcpy(&bits, &m, 4);
  for (; root > 1; root /= 2) bits -= 1u << 23;
  bits += 0x123456u;
  memcpy(&m, &bits, 4);
  return m;
}

enum {
  kFirstOfReals = 12,
  kLastOfReals = 19,
  kFirstOfWide = 20,
  kAverageWide = 22,
  kQuantizeWide = 24,
  kMatmulReals = 28,
  kPick = 29,
  kCast = 32,
  kFirstOfMoreReals = 34
}; /* delegates/mcu/plan/kernels.def */
static int is_real(uint32_t kernel) {
  return (kernel >= kFirstOfReals && kernel <= kLastOfReals) || kernel == kMatmulReals || kernel >= kFirstOfMoreReals;
}

int main(void) {
  for (uint32_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    if (!VIREO_MCU_FPU && is_real(kCases[i].kernel)) continue;
    const vireo_mcu_kernel* const k = vireo_mcu_kernel_of(kCases[i].kernel);
    uint32_t bytes[VIREO_PLAN_OPERANDS], state = i + 1;
    void* operands[VIREO_PLAN_OPERANDS];
    uint8_t* at = (uint8_t*)memory;
    if (k == NULL || !k->needs(kCases[i].parameters, bytes)) return 1;
    for (uint32_t o = 0; o < k->operands; ++o) {
      operands[o] = at;
      if (at + bytes[o] > (uint8_t*)memory + sizeof memory) return 2;
      for (uint32_t b = 0; b < bytes[o]; ++b) { /* sums of small numbers: what real layers have */
        state = state * 1664525u + 1013904223u;
        at[b] = (uint8_t)((int8_t)(state >> 24) / 2);
      }
      if (kCases[i].kernel >= kFirstOfWide && kCases[i].kernel <= kAverageWide) {
        const float m = kCases[i].kernel == kAverageWide ? 1.0f / 16 : 64 * multiplier_of(kCases[i].k);
        const uint32_t of_multipliers = kCases[i].kernel == kAverageWide ? 1 : 2;
        for (uint32_t b = 0; o == of_multipliers && b + 4 <= bytes[o]; b += 4) memcpy(at + b, &m, 4);
        if (o == 3 && kCases[i].kernel != kAverageWide) memset(at, 0, bytes[o]);
      } else if ((k->words >> o & 1) != 0 && kCases[i].kernel <= 4 && (kCases[i].kernel == 4 || o == 2)) {
        const float m = kCases[i].kernel == 4 ? 1.0f / 16 : multiplier_of(kCases[i].k);
        for (uint32_t b = 0; b + 4 <= bytes[o]; b += 4) memcpy(at + b, &m, 4);
      } else if ((k->words >> o & 1) != 0) {
        for (uint32_t b = 0; b + 4 <= bytes[o]; b += 4) { /* biases, a table, real numbers of about 1 */
          const uint32_t word = kCases[i].kernel == 10 || kCases[i].kernel >= kFirstOfReals
                                    ? 0x3F000000u + (b << 12) % 0x800000u
                                    : 1 + (b * 7919) % 4096;
          memcpy(at + b, &word, 4);
        }
      }
      const uint32_t from = kCases[i].parameters[1] & 255; /* of a cast: numbers as models have them */
      for (uint32_t b = 0; kCases[i].kernel == kCast && o == 0 && from >= 7 && b < bytes[o]; b += 4) {
        uint32_t word;
        memcpy(&word, at + b, 4);
        word = from == 8 ? 0x42000000u + (word & 0x3FFFFFu) : b % 8 == 0 ? word >> 16 : 0;
        memcpy(at + b, &word, 4);
      }
      for (uint32_t b = 0; kCases[i].kernel == kPick && o == 1 && b < bytes[o]; b += 4) { /* rows that are there */
        const uint32_t row = b / 4 % 4;
        memcpy(at + b, &row, 4);
      }
      if ((k->optional >> o & 1) != 0 && o == 4) {
        operands[o] = NULL;
        continue;
      }
      at += (bytes[o] + 15) & ~15u;
    }
    const vireo_mcu_units all = {0, VIREO_MCU_ALL_UNITS};
    count_mark();
    k->run(kCases[i].parameters, operands, all);
    count_mark();
  }
  return 0;
}
