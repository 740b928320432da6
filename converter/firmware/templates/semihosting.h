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

#if defined(VIREO_MCU_TRACE) && VIREO_MCU_TRACE
int board_write_file(const char* path, const void* bytes, uint32_t count) {
  uintptr_t block[3];
  uint32_t length = 0;
  while (path[length] != 0) ++length;
  block[0] = (uintptr_t)path, block[1] = 5 /* "wb" */, block[2] = length;
  const uint32_t file = semihost(0x01 /* SYS_OPEN */, block);
  if (file == 0xFFFFFFFFu) return 1;
  block[0] = file, block[1] = (uintptr_t)bytes, block[2] = count;
  const uint32_t left = semihost(0x05 /* SYS_WRITE */, block);
  block[0] = file;
  return (int)(left | semihost(0x02 /* SYS_CLOSE */, block));
}
#endif

uint32_t board_stack_used(void) {
  const uint32_t* p = image_stack_low;
  while (p < image_stack_top && *p == PAINT) ++p;
  return (uint32_t)((const char*)image_stack_top - (const char*)p);
}

#endif /* SEMIHOSTING_H_ */
