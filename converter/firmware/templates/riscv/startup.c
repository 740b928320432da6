/* Reset to main on RV32: the stack, initial data, the floating-point unit on, traps, semihosting. */
#include <stdint.h>

int main(void);
void board_start(void);

/* The three instructions stand in one page and are not compressed: a debugger knows the call by them. */
static uint32_t semihost(uint32_t operation, const void* argument) {
  register uint32_t a0 __asm__("a0") = operation;
  register const void* a1 __asm__("a1") = argument;
  __asm__ volatile(
      ".option push\n.option norvc\n.balign 16\nslli zero, zero, 0x1f\nebreak\nsrai zero, zero, 0x7\n.option pop"
      : "+r"(a0)
      : "r"(a1)
      : "memory");
  return a0;
}

#include "semihosting.h"

__attribute__((aligned(4), used)) static void fault(void) {
  board_write("fault\n");
  board_exit(139);
}

#if defined(VIREO_MCU_TRACE) && VIREO_MCU_TRACE
uint32_t vireo_mcu_trace_clock(void);
uint32_t vireo_mcu_trace_clock(void) { /* instructions */
  uint32_t count;
  __asm__ volatile(".option push\n.option arch, +zicsr\ncsrr %0, minstret\n.option pop" : "=r"(count));
  return count;
}
#endif

__attribute__((used)) void board_start(void) {
  __asm__ volatile(".option push\n.option arch, +zicsr\ncsrw mtvec, %0\n.option pop" ::"r"(fault));
#ifdef __riscv_flen
  /* FS: on; nearest even */
  __asm__ volatile(".option push\n.option arch, +zicsr\ncsrs mstatus, %0\ncsrwi fcsr, 0\n.option pop" ::"r"(1u << 13));
#endif
  const uint32_t* from = image_data_load;
  for (volatile uint32_t* to = image_data_begin; to < image_data_end;) *to++ = *from++;
  for (volatile uint32_t* to = image_bss_begin; to < image_bss_end;) *to++ = 0;
  uint32_t* const here = (uint32_t*)__builtin_frame_address(0);
  for (volatile uint32_t* p = image_stack_low; p < here - 16; ++p) *p = PAINT;
  board_exit(main());
}

__asm__(".section .vectors,\"ax\"\n.globl board_reset\nboard_reset:\n la sp, image_stack_top\n j board_start\n.text\n");
