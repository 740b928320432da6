/* Two models and a control loop on one core, without an operating system and without interrupts. The loop may never
 * wait for a model: between two turns of it, a model runs for about 20,000 instructions.
 *
 * Both models have an arena of their own. Their inputs are those of --embed-tests. */
#include "board.h"
#include "digits.h"
#include "digits_tests.h"
#include "uart.h"
#include "words.h"
#include "words_tests.h"

#define SLICE 20000 /* instructions; at 120 MHz some 0.2 ms */

static uint32_t turns;
static void control(void) { ++turns; } /* motors, buttons, the watchdog */

typedef struct {
  const char* name;
  vireo_mcu_session session;
  uint32_t slices, runs;
} task;
static task words = {"words", {0}, 0, 0}, digits = {"digits", {0}, 0, 0};

static uint32_t largest(const float* y, uint32_t count) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < count; ++i) best = y[i] > y[best] ? i : best;
  return best;
}

/* One slice. 1: a run has ended, and its outputs are there until the next slice. */
static int goes_on(task* t) {
  uint8_t done = 0;
  if (vireo_mcu_step(&t->session, SLICE, &done) != VIREO_MCU_OK) board_exit(3);
  ++t->slices;
  t->runs += done;
  return done;
}

static void report(const task* t, uint32_t answer) {
  uart_write(t->name);
  uart_write(": output ");
  uart_number(answer);
  uart_write(" is the largest, after ");
  uart_number(t->slices);
  uart_write(" slices\n");
}

int main(void) {
  if (words_open(&words.session) != VIREO_MCU_OK || digits_open(&digits.session) != VIREO_MCU_OK) board_exit(1);
  words_test_inputs(&words.session, 0);
  digits_test_inputs(&digits.session, 0);
  while (words.runs < 2 || digits.runs < 1) {
    control();
    if (words.runs < 2 && goes_on(&words)) {
      report(&words, largest(words_logits(), WORDS_LOGITS_COUNT));
      words_test_inputs(&words.session, words.runs); /* the next second of sound */
    }
    control();
    if (digits.runs < 1 && goes_on(&digits)) report(&digits, largest(digits_logits(), DIGITS_LOGITS_COUNT));
  }
  uart_write("the loop had ");
  uart_number(turns);
  uart_write(" turns meanwhile\n");
  return turns < words.slices + digits.slices;
}
