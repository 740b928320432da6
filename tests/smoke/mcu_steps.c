/* The keyword spotter of an emitted folder in steps of BUDGET instructions, each between two calls of count_mark. */
#include "board.h"
#include "kws_dscnn_mfcc.h"
#include "kws_dscnn_mfcc_tests.h"

void count_mark(void);
__attribute__((noinline)) void count_mark(void) { __asm__ volatile("" ::: "memory"); }

int main(void) {
  vireo_mcu_session session;
  uint32_t hash = 2166136261u, bytes;
  if (kws_dscnn_mfcc_open(&session) != VIREO_MCU_OK) return 2;
  for (uint32_t c = 0; c < KWS_DSCNN_MFCC_TEST_CASES; ++c) {
    uint8_t done = 0;
    kws_dscnn_mfcc_test_inputs(&session, c);
    while (!done) {
      count_mark();
      const vireo_mcu_status status = vireo_mcu_step(&session, BUDGET, &done);
      count_mark();
      if (status != VIREO_MCU_OK) return 3;
    }
    const uint8_t* y = (const uint8_t*)vireo_mcu_output(&session, 0, &bytes);
    for (; bytes > 0; --bytes) hash = (hash ^ *y++) * 16777619u;
  }
  return hash != KWS_DSCNN_MFCC_TEST_HASH;
}
