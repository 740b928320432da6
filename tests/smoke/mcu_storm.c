/* An interrupt storm on a Cortex-M: every thousand instructions a timer interrupts the runs of one session, finds that
 * it is busy, and now and then makes a step of another session with an arena of its own. Both have the results of runs
 * that nobody interrupted. */
#include "board.h"
#include "kws_dscnn_mfcc.h"
#include "kws_dscnn_mfcc_tests.h"

#define SYSTICK ((volatile uint32_t*)0xE000E010u)
#define VTOR (*(volatile uint32_t*)0xE000ED08u)

typedef struct {
  vireo_mcu_session session;
  uint32_t hash, next; /* the case that runs */
} runner;

static runner first, second;
static uint64_t arena[KWS_DSCNN_MFCC_ARENA_BYTES / 8];
static volatile uint32_t ticks, busy, wrong, rounds;
static uint32_t vectors[16] __attribute__((aligned(128)));

static void begin(runner* r) { kws_dscnn_mfcc_test_inputs(&r->session, r->next); }
/* Takes the results of a run; 1 after the last case. */
static int end(runner* r) {
  uint32_t bytes;
  const uint8_t* y = (const uint8_t*)vireo_mcu_output(&r->session, 0, &bytes);
  if (r->next == 0) r->hash = 2166136261u;
  for (; bytes > 0; --bytes) r->hash = (r->hash ^ *y++) * 16777619u;
  if (++r->next < KWS_DSCNN_MFCC_TEST_CASES) return 0;
  r->next = 0;
  return 1;
}

static void on_tick(void) {
  uint8_t done = 0;
  if (first.session.busy) {
    ++busy;
    if (vireo_mcu_step(&first.session, 1, &done) != VIREO_MCU_BUSY || vireo_mcu_run(&first.session) != VIREO_MCU_BUSY ||
        vireo_mcu_restart(&first.session) != VIREO_MCU_BUSY)
      ++wrong;
  }
  if (++ticks % 64 != 0) return;
  if (vireo_mcu_step(&second.session, 5000, &done) != VIREO_MCU_OK) ++wrong;
  if (!done) return;
  if (end(&second)) {
    if (second.hash != KWS_DSCNN_MFCC_TEST_HASH) ++wrong;
    ++rounds;
  }
  begin(&second);
}

int main(void) {
  if (kws_dscnn_mfcc_open(&first.session) != VIREO_MCU_OK) return 2;
  if (vireo_mcu_open(&second.session, kws_dscnn_mfcc_plan, KWS_DSCNN_MFCC_PLAN_BYTES, arena,
                     KWS_DSCNN_MFCC_ARENA_BYTES) != VIREO_MCU_OK)
    return 3;
  begin(&second);
  for (int i = 0; i < 16; ++i) vectors[i] = ((const uint32_t*)(uintptr_t)VTOR)[i];
  vectors[15] = (uint32_t)(uintptr_t)on_tick;
  VTOR = (uint32_t)(uintptr_t)vectors;
  SYSTICK[1] = TICKS - 1;
  SYSTICK[2] = 0;
  SYSTICK[0] = 7; /* on, by the core's clock, with its interrupt */
  for (uint32_t n = 0; rounds < 2; ++n) {
    begin(&first);
    if (vireo_mcu_run(&first.session) != VIREO_MCU_OK) return 4;
    if (end(&first) && first.hash != KWS_DSCNN_MFCC_TEST_HASH) return 5;
    if (n > 4000) return 6; /* the other one does not come forward */
  }
  SYSTICK[0] = 0;
  if (wrong != 0) return 7;
  if (busy < 10000) return 8; /* that was no storm */
  return 0;
}
