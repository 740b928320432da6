/* Reset to main on Arm's M profile: vectors, initial data, the floating-point unit on, semihosting. */
#include <stdint.h>

int main(void);
void board_reset(void);

static uint32_t semihost(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

#include "semihosting.h"

static void fault(void) {
  board_write("fault\n");
  board_exit(139);
}

#if defined(VIREO_MCU_TRACE) && VIREO_MCU_TRACE
uint32_t vireo_mcu_trace_clock(void);
uint32_t vireo_mcu_trace_clock(
    void) { /* SysTick, which every core has: 24 bits, so layers of up to 16 million cycles */
  static uint32_t last, high;
  volatile uint32_t* const systick = (volatile uint32_t*)0xE000E010u; /* control, reload, value */
  if ((systick[0] & 1) == 0)
    systick[1] = 0xFFFFFFu, systick[2] = 0, systick[0] = 5; /* the core's clock, no interrupt */
  const uint32_t value = 0xFFFFFFu - systick[2];
  if (value < last) high += 0x1000000u;
  last = value;
  return high + value;
}
#endif

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
