/* Runs the model on the cases of thismodel_tests.c. Prints one hash over all results, which has to be the one that the
 * converting machine computed, and how deep the stack was. */
#include "board.h"
#include "thismodel.h"
#include "thismodel_tests.h"

/* Around a run: what counts instructions looks for them. */
void count_begin(void);
void count_end(void);
__attribute__((noinline)) void count_begin(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void count_end(void) { __asm__ volatile("" ::: "memory"); }

static void write_number(uint32_t n) {
  char digits[11];
  char* p = digits + sizeof digits - 1;
  *p = 0;
  do {
    *--p = (char)('0' + n % 10);
    n /= 10;
  } while (n != 0);
  board_write(p);
}

static uint32_t hash_of(uint32_t hash, const uint8_t* bytes, uint32_t count) { /* FNV-1a */
  for (; count > 0; --count) hash = (hash ^ *bytes++) * 16777619u;
  return hash;
}

int main(void) {
  vireo_mcu_session session;
  uint32_t hash = 2166136261u, bytes;
  vireo_mcu_status status = thismodel_open(&session);
  for (uint32_t c = 0; status == VIREO_MCU_OK && c < THISMODEL_TEST_CASES; ++c) {
    thismodel_test_inputs(&session, c);
    count_begin();
    status = vireo_mcu_run(&session);
    count_end();
    for (uint32_t o = 0; o < THISMODEL_OUTPUTS; ++o) {
      const uint8_t* const y = (const uint8_t*)vireo_mcu_output(&session, o, &bytes);
      hash = hash_of(hash, y, bytes);
    }
  }
  board_write("thismodel hash ");
  write_number(hash);
  board_write("\nstack ");
  write_number(board_stack_used());
  board_write("\n");
  if (status != VIREO_MCU_OK) {
    board_write("status ");
    write_number(status);
    board_write("\n");
    return 1;
  }
  if (hash != THISMODEL_TEST_HASH) {
    board_write("expected ");
    write_number(THISMODEL_TEST_HASH);
    board_write("\n");
    return 1;
  }
  if (board_stack_used() > THISMODEL_STACK_BYTES) {
    board_write("the stack is deeper than its budget\n");
    return 1;
  }
  return 0;
}
