/* Reset to main on Arm's M profile: vectors, initial data, the floating-point unit on, semihosting. */
#include "board.h"

extern uint32_t image_data_load[], image_data_begin[], image_data_end[], image_bss_begin[], image_bss_end[];
extern uint32_t image_stack_low[], image_stack_top[];
int main(void);
void board_reset(void);

#define PAINT 0x5AC3A55Au /* a word that code is unlikely to leave on the stack by itself */

static uint32_t semihost(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

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

static void fault(void) {
  board_write("fault\n");
  board_exit(139);
}

void board_reset(void) {
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
  *(volatile uint32_t*)0xE000ED88u |= 0xFu << 20; /* CPACR: full access to the coprocessors 10 and 11 */
  __asm__ volatile("dsb\n isb" ::: "memory");
#endif
  const uint32_t* from = image_data_load;
  for (volatile uint32_t* to = image_data_begin; to < image_data_end;) *to++ = *from++;
  for (volatile uint32_t* to = image_bss_begin; to < image_bss_end;) *to++ = 0;
  uint32_t* const here = (uint32_t*)__builtin_frame_address(0);
  for (volatile uint32_t* p = image_stack_low; p < here - 16; ++p) *p = PAINT;
  board_exit(main());
}

typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) static const vector kVectors[16] = {
    (vector)image_stack_top, board_reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, fault};
