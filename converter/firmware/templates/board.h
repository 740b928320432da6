/* What the self-test asks of its board: text and an exit status by semihosting, so that it runs under qemu and under a
 * debugger without drivers. A board of your own is a folder with the same three files. */
#ifndef BOARD_H_
#define BOARD_H_

#include <stdint.h>

void board_write(const char* text);
void board_exit(int status);     /* does not return; the exit status of qemu */
uint32_t board_stack_used(void); /* the deepest use of the stack since reset, in bytes */

/* With -DVIREO_MCU_TRACE=1, also what a program brings: vireo_mcu_trace_clock() of vireo_mcu_trace.h, and a file of the
 * debugger's machine. */
int board_write_file(const char* path, const void* bytes, uint32_t count); /* 0: it is written */

#endif /* BOARD_H_ */
