/* Prints the word of a recording on the serial port. features.h has the recording's features, as the code before the
 * model would compute them from a microphone. */
#include "board.h"
#include "features.h"
#include "uart.h"
#include "words.h"

static const char* const kWords[WORDS_LOGITS_COUNT] = {"down",  "go",   "left", "no",  "off",     "on",
                                                       "right", "stop", "up",   "yes", "silence", "unknown"};
static vireo_mcu_session session;

int main(void) {
  if (words_open(&session) != VIREO_MCU_OK) board_exit(1);
  float* const features = words_features();
  for (uint32_t i = 0; i < WORDS_FEATURES_COUNT; ++i) features[i] = kFeatures[i];
  if (vireo_mcu_run(&session) != VIREO_MCU_OK) board_exit(2);
  const float* const logits = words_logits();
  uint32_t best = 0;
  for (uint32_t i = 1; i < WORDS_LOGITS_COUNT; ++i) best = logits[i] > logits[best] ? i : best;
  uart_write(kWords[best]);
  uart_write("\n");
  return 0;
}
