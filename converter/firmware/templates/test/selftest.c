/* Runs each model on the cases of model/NAME_tests.c. Prints one hash over all results of each, which has to be the one
 * that the converting machine computed, and how deep the stack was. */
#include "board.h"
#include "models.h"
#include "vireo_mcu_trace.h"

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

static void write_line(const char* what, uint32_t n) {
  board_write(what);
  write_number(n);
  board_write("\n");
}

static int tell(const char* model, vireo_mcu_status status, uint32_t hash, uint32_t expected) {
  board_write(model);
  write_line(" hash ", hash);
  if (status == VIREO_MCU_OK && hash == expected) return 0;
  if (status != VIREO_MCU_OK)
    write_line("status ", status);
  else
    write_line("expected ", expected);
  return 1;
}

static vireo_mcu_status run(vireo_mcu_session* session, uint32_t outputs, uint32_t* hash) {
  uint32_t bytes;
  count_begin();
  const vireo_mcu_status status = vireo_mcu_run(session);
  count_end();
  for (uint32_t o = 0; o < outputs; ++o) {
    const uint8_t* const y = (const uint8_t*)vireo_mcu_output(session, o, &bytes);
    *hash = hash_of(*hash, y, bytes);
  }
  return status;
}

#define TEST(model, MODEL)                                                        \
  static int test_##model(void) {                                                 \
    vireo_mcu_session session;                                                    \
    uint32_t hash = 2166136261u;                                                  \
    vireo_mcu_status status = model##_open(&session);                             \
    for (uint32_t c = 0; status == VIREO_MCU_OK && c < MODEL##_TEST_CASES; ++c) { \
      model##_test_inputs(&session, c);                                           \
      status = run(&session, MODEL##_OUTPUTS, &hash);                             \
    }                                                                             \
    WRITE_TRACE(#model)                                                           \
    return tell(#model, status, hash, MODEL##_TEST_HASH);                         \
  }
#if VIREO_MCU_TRACE
#define WRITE_TRACE(model) \
  if (board_write_file("trace_" model ".bin", &vireo_mcu_trace, sizeof vireo_mcu_trace) != 0) return 1;
#else
#define WRITE_TRACE(model)
#endif
MODELS(TEST)

int main(void) {
  int failed = 0;
#define CALL(model, MODEL) failed |= test_##model();
  MODELS(CALL)
  const uint32_t used = board_stack_used();
  write_line("stack ", used);
  if (used > IMAGE_STACK_BYTES) {
    board_write("the stack is deeper than its budget\n");
    failed = 1;
  }
  return failed;
}
