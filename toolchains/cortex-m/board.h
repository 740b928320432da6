/* What a firmware image may ask of its board: text to the debugger and an exit status, both by semihosting, so that a
 * program tested under qemu-system-arm needs no C library I/O (newlib's printf and exit bring malloc with them). */
#ifndef VIREO_TOOLCHAINS_CORTEX_M_BOARD_H_
#define VIREO_TOOLCHAINS_CORTEX_M_BOARD_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void board_write(const char* text);
void board_write_u32(uint32_t value);
void board_write_f32(float value); /* sign, integer part, six decimals; |value| < 2^31, else "inf" or "nan" */
void board_exit(int status) __attribute__((noreturn)); /* becomes the exit status of qemu */
uint32_t board_stack_bytes_used(void);                 /* deepest use of the stack since reset */

#ifdef __cplusplus
}
#endif

#endif /* VIREO_TOOLCHAINS_CORTEX_M_BOARD_H_ */
