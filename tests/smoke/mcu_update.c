/* Updates on an emulated core, over a flash that is memory: the keyword spotter from a slot, a cut at each page, and
 * slots that are damaged. Compiled with the bytes of two slots (slots.h) and with the header of a key. */
#include <string.h>

#include "board.h"
#include "key.h"
#include "kws_dscnn_mfcc.h"
#include "kws_dscnn_mfcc_tests.h"
#include "slots.h"
#include "vireo_mcu_update.h"

enum { kPage = 4096, kSlotPages = 8, kPages = 2 + 2 * kSlotPages };

void count_mark(void);
__attribute__((noinline)) void count_mark(void) { __asm__ volatile("" ::: "memory"); }

static uint8_t flash[kPages * kPage] __attribute__((aligned(16)));
static int left; /* pages until the power fails, in the middle of one; -1: it does not */
static int is_off;

static int fails(void) {
  if (left >= 0 && left-- == 0) is_off = 1;
  return is_off;
}
static int erase(void* context, uint32_t page) {
  (void)context;
  if (is_off) return 1;
  memset(flash + page * kPage, 0xFF, fails() ? kPage / 2 : kPage);
  return is_off;
}
static int program(void* context, uint32_t offset, const void* bytes, uint32_t count) {
  (void)context;
  if (is_off) return 1;
  memcpy(flash + offset, bytes, fails() ? count / 2 : count);
  return is_off;
}

static vireo_update update = {{flash, kPage, kSlotPages, NULL, erase, program}, {0}, 7};
static vireo_mcu_session session;
static vireo_update_chosen chosen;

static vireo_mcu_status boot(void) {
  return vireo_update_boot(&update, &session, kws_dscnn_mfcc_arena, KWS_DSCNN_MFCC_ARENA_BYTES, &chosen);
}
static vireo_mcu_status take(const uint8_t* slot, uint32_t bytes) {
  vireo_update_progress p;
  vireo_mcu_status status = vireo_update_begin(&update, chosen.slot, bytes, &p);
  if (status == VIREO_MCU_OK) status = vireo_update_write(&update, &p, slot, bytes);
  return status != VIREO_MCU_OK ? status
                                : vireo_update_end(&update, &p, kws_dscnn_mfcc_arena, KWS_DSCNN_MFCC_ARENA_BYTES);
}
static int is_right(void) {
  uint32_t hash = 2166136261u, bytes;
  for (uint32_t c = 0; c < KWS_DSCNN_MFCC_TEST_CASES; ++c) {
    kws_dscnn_mfcc_test_inputs(&session, c);
    if (vireo_mcu_run(&session) != VIREO_MCU_OK) return 0;
    const uint8_t* y = (const uint8_t*)vireo_mcu_output(&session, 0, &bytes);
    for (; bytes > 0; --bytes) hash = (hash ^ *y++) * 16777619u;
  }
  return hash == KWS_DSCNN_MFCC_TEST_HASH;
}

int main(void) {
  memcpy(update.key, kUpdateKey, sizeof update.key);
  memset(flash, 0xFF, sizeof flash);
  left = -1;
  chosen.slot = 1;
  if (boot() != VIREO_MCU_INVALID_MODEL) return 2;
  chosen.slot = 1;
  if (take(kSlot1, sizeof kSlot1) != VIREO_MCU_OK) return 3;
  count_mark();
  if (boot() != VIREO_MCU_OK) return 4;
  count_mark();
  if (!is_right() || vireo_update_confirm(&update, chosen.slot) != VIREO_MCU_OK) return 5;
  const uint32_t old = chosen.slot;
  int cuts = 0;
  for (int at = 0;; ++at) { /* the update up to page `at`, again and again */
    left = at;
    const vireo_mcu_status status = take(kSlot2, sizeof kSlot2);
    const int off = is_off;
    left = -1, is_off = 0;
    if (!off && status != VIREO_MCU_OK) return 6;
    if (boot() != VIREO_MCU_OK) return 7;
    if (!off || chosen.slot != old) break; /* all of it is there: half of a last write may have been what was left */
    if (!chosen.confirmed) return 8;
    ++cuts;
  }
  if (chosen.slot == old || chosen.revision != 2 || !is_right()) return 9;
  if (vireo_update_confirm(&update, chosen.slot) != VIREO_MCU_OK || cuts < 14) return 10;
  /* Damaged in a random bit, and mended again. */
  uint32_t state = 1;
  uint8_t* const slot = flash + (2 + chosen.slot * kSlotPages) * kPage;
  for (int i = 0; i < CASES; ++i) {
    state = state * 1664525u + 1013904223u;
    uint8_t* const at = slot + (state >> 8) % sizeof kSlot2;
    const uint8_t bit = (uint8_t)(1u << (state >> 5 & 7));
    *at ^= bit;
    if (boot() == VIREO_MCU_OK) return 11; /* revision 1 is refused by now */
    *at ^= bit;
  }
  return boot() == VIREO_MCU_OK && is_right() ? 0 : 12;
}
