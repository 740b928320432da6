/* Damaged plans on an emulated Cortex-M behind its memory protection unit: whatever a plan says, opening and running it
 * ends with a status or a result, and writes to nothing but the arena, the session and the stack. Every 64th plan is
 * whole, and gives the right bits. Ends with 139, by a fault, where a write leaves them; ESCAPE=1 does so once, to show
 * that it is seen.
 *
 * SLOTS=1: the plans are in two slots of a flash, of which one is damaged, its header too, and boots choose. Signatures
 * are taken for right, so that what is behind them meets all damage. Where a boot passes over the damaged slot, the
 * other one gives the right bits. */
#include <string.h>

#include "board.h"
#include "kws_dscnn_mfcc.h"
#include "kws_dscnn_mfcc_tests.h"
#if SLOTS
#include "ed25519.h"
#include "vireo_mcu_update.h"
#endif

extern uint32_t image_stack_low[]; /* of 4,096 bytes */

#define MPU ((volatile uint32_t*)0xE000ED90u)             /* type, control, number, base, attributes and size */
enum { kWindow = 1 << WINDOW_BITS, kPart = kWindow / 8 }; /* a region, and what can be left out of it */

/* The arena ends where a part of the window does. What is left of its first part is painted. */
static uint8_t window[kWindow] __attribute__((aligned(1 << WINDOW_BITS)));
enum {
  kParts = (KWS_DSCNN_MFCC_ARENA_BYTES + kPart - 1) / kPart,
  kBegin = kParts * kPart - KWS_DSCNN_MFCC_ARENA_BYTES
};
static union {
  vireo_mcu_session session;
  uint8_t bytes[256];
} own __attribute__((aligned(256)));
static vireo_mcu_session* const session = &own.session;

#if SLOTS
enum { kPage = 256, kHeader = sizeof(vireo_slot_header), kSlotBytes = kHeader + KWS_DSCNN_MFCC_PLAN_BYTES };
enum { kSlotPages = (kSlotBytes + kPage - 1) / kPage, kSlotWords = kSlotPages * kPage / 4 };
static uint32_t flash[2 * kPage / 4 + 2 * kSlotWords] __attribute__((aligned(16)));
static uint32_t damaged; /* the slot */
static uint32_t passed_over;

int vireo_ed25519_verify(const uint8_t signature[64], const uint8_t key[32], const uint8_t* message, uint32_t bytes) {
  (void)signature, (void)key, (void)message, (void)bytes;
  return 1;
}
static int no_erase(void* context, uint32_t page) { return (void)context, (void)page, 1; }
static int no_write(void* context, uint32_t offset, const void* bytes, uint32_t count) {
  return (void)context, (void)offset, (void)bytes, (void)count, 1;
}
static const vireo_update update = {{(const uint8_t*)flash, kPage, kSlotPages, NULL, no_erase, no_write}, {0}, 7};
static void begin(void) {
  for (uint32_t slot = 0; slot < 2; ++slot) {
    const vireo_slot_header h = {{0}, VIREO_SLOT_MAGIC, 7, slot + 1, 1, KWS_DSCNN_MFCC_PLAN_BYTES, {0}};
    uint32_t* const to = flash + 2 * kPage / 4 + slot * kSlotWords;
    memcpy(to, &h, sizeof h);
    memcpy(to + kHeader / 4, kws_dscnn_mfcc_plan, KWS_DSCNN_MFCC_PLAN_BYTES);
  }
}
#define WORDS_ALL (kSlotBytes / 4)
#define WORDS_FRONT ((kHeader + FRONT) / 4)
static uint32_t* words_of(uint32_t i) {
  damaged = i % 4 != 0; /* mostly the newer one */
  return flash + 2 * kPage / 4 + damaged * kSlotWords;
}
#else
static uint32_t plan[KWS_DSCNN_MFCC_PLAN_BYTES / 4];
static void begin(void) { memcpy(plan, kws_dscnn_mfcc_plan, sizeof plan); }
#define WORDS_ALL (sizeof plan / 4)
#define WORDS_FRONT (FRONT / 4)
static uint32_t* words_of(uint32_t i) { return (void)i, plan; }
#endif

static uint32_t state = 1;
static uint32_t next(void) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

/* access: 6 read only, 3 all; skipped: eighths that are not part of it. */
static void region(uint32_t number, const void* base, uint32_t bits, uint32_t access, uint32_t execute,
                   uint32_t skipped) {
  MPU[2] = number;
  MPU[3] = (uint32_t)base;
  MPU[4] = (execute ? 0u : 1u << 28) | access << 24 | 6u << 16 | skipped << 8 | (bits - 1) << 1 | 1u;
}
static void protect(uint32_t on) {
  __asm__ volatile("dsb" ::: "memory");
  MPU[1] = on; /* no map behind the regions */
  __asm__ volatile("dsb\n isb" ::: "memory");
}

static uint32_t hash_of_run(void) {
  uint32_t hash = 2166136261u, bytes;
  const uint8_t* y = (const uint8_t*)vireo_mcu_output(session, 0, &bytes);
  for (; bytes > 0; --bytes) hash = (hash ^ *y++) * 16777619u;
  return hash;
}

/* Opens and runs what the memory holds now; with the unit on. 0: it has a hash. */
__attribute__((noinline)) static vireo_mcu_status attempt(uint32_t* hash, int* whole) {
#if SLOTS
  vireo_update_chosen chosen;
  vireo_mcu_status status = vireo_update_boot(&update, session, window + kBegin, KWS_DSCNN_MFCC_ARENA_BYTES, &chosen);
  *whole = status == VIREO_MCU_OK && chosen.slot != damaged;
#else
  vireo_mcu_status status = vireo_mcu_open(session, plan, sizeof plan, window + kBegin, KWS_DSCNN_MFCC_ARENA_BYTES);
  *whole = 0;
#endif
  if (status != VIREO_MCU_OK) return status;
  for (uint32_t i = 0; i < KWS_DSCNN_MFCC_INPUTS; ++i) {
    uint32_t bytes;
    uint8_t* x = (uint8_t*)vireo_mcu_input(session, i, &bytes);
    for (; x != NULL && bytes > 0; --bytes) *x++ = (uint8_t)(bytes * 37);
  }
  status = vireo_mcu_run(session);
  *hash = hash_of_run();
  return status;
}

static void print_number(const char* what, uint32_t n) {
  char text[12] = {0}, *p = text + 10;
  do *--p = (char)('0' + n % 10);
  while ((n /= 10) != 0);
  text[10] = '\n';
  board_write(what);
  board_write(p);
}

int main(void) {
  static const uint32_t kWords[] = {0, 1, 2, 255, 0x4000, 0x7FFFFFFF, 0x80000000u, 0xFFFFFFFFu, 0x10000000, 0x1FFFFFFF};
  uint32_t right = 0, hash = 0, ran = 0, refused = 0;
  int whole;
  begin();
  memset(window, 0xA5, sizeof window);
  region(0, (const void*)0, 22, 6, 1, 0);
  region(1, (const void*)0x20000000, 18, 6, 0, 0);
  region(2, image_stack_low, 12, 3, 0, 0);
  region(3, window, WINDOW_BITS, 3, 0, 0xFFu << kParts & 0xFF);
  region(4, &own, 8, 3, 0, 0);
  protect(1);
  if (attempt(&right, &whole) != VIREO_MCU_OK) return 2;
  if (ESCAPE) *(volatile uint8_t*)(window + kParts * kPart) = 1;
  protect(0);
  for (uint32_t i = 1; i <= CASES; ++i) {
    uint32_t at[3], was[3], count = i % 64 == 0 ? 0 : 1 + next() % 3;
    uint32_t* const words = words_of(i);
    for (uint32_t k = 0; k < count; ++k) { /* mostly in front, where records and parameters are */
      at[k] = next() % (next() % 4 == 0 ? WORDS_ALL : WORDS_FRONT), was[k] = words[at[k]];
      switch (next() % 4) {
        case 0:
          words[at[k]] ^= 1u << next() % 32;
          break;
        case 1:
          words[at[k]] = kWords[next() % (sizeof kWords / 4)];
          break;
        case 2:
          words[at[k]] += next() % 65 - 32;
          break;
        default:
          words[at[k]] = (was[k] & 0xFFFFFF00u) | (next() & 255);
          break;
      }
    }
    protect(1);
    const vireo_mcu_status status = attempt(&hash, &whole);
    protect(0);
    ran += status == VIREO_MCU_OK;
    refused += status != VIREO_MCU_OK;
#if SLOTS
    passed_over += count != 0 && damaged == 1 && whole;
#endif
    if (status > VIREO_MCU_OUT_OF_ARENA) return 3;
    if ((count == 0 || whole) && (status != VIREO_MCU_OK || hash != right)) return 4;
    while (count-- > 0) words[at[count]] = was[count];
    for (uint32_t k = 0; k < kBegin; ++k) {
      if (window[k] != 0xA5) return 5;
    }
  }
  print_number("ran ", ran);
#if SLOTS
  print_number("passed over ", passed_over);
  return refused != 0 || passed_over < CASES / 10 || passed_over > CASES * 9 / 10 ? 6 : 0; /* one slot is whole */
#else
  print_number("refused ", refused);
  return ran < CASES / 10 || refused < CASES / 10 ? 6 : 0;
#endif
}
