/* What boards with semihosting share: included once, by startup.c, behind its semihost(). */
#ifndef SEMIHOSTING_H_
#define SEMIHOSTING_H_

#include "board.h"

extern uint32_t image_data_load[], image_data_begin[], image_data_end[], image_bss_begin[], image_bss_end[];
extern uint32_t image_stack_low[], image_stack_top[];

#define PAINT 0x5AC3A55Au /* a word that code is unlikely to leave on the stack by itself */

void board_write(const char* text) { (void)semihost(0x04 /* SYS_WRITE0 */, text); }

void board_exit(int status) {
  uint32_t block[2];
  block[0] = 0x20026u; /* ADP_Stopped_ApplicationExit */
  block[1] = (uint32_t)status;
  (void)semihost(0x20 /* SYS_EXIT_EXTENDED */, block);
  for (;;) {
  }
}

uint32_t board_stack_used(void) {
  const uint32_t* p = image_stack_low;
  while (p < image_stack_top && *p == PAINT) ++p;
  return (uint32_t)((const char*)image_stack_top - (const char*)p);
}

#endif /* SEMIHOSTING_H_ */
