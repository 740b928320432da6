/* Reset to main: vector table, initial data, FPU on, constructors, semihosting. */
#include "toolchains/cortex-m/board.h"

extern uint32_t image_data_load[], image_data_begin[], image_data_end[], image_bss_begin[], image_bss_end[];
extern uint32_t image_stack_low[], image_stack_top[];
extern void (*image_init_begin[])(void);
extern void (*image_init_end[])(void);
extern int main(void);

enum { kStackPaint = 0x5AC3A55Au }; /* a word that code is unlikely to leave on the stack by itself */

static uint32_t semihost(uint32_t operation, const void* argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void board_write(const char* text) { (void)semihost(0x04 /* SYS_WRITE0 */, text); }

void board_write_u32(uint32_t value) {
  char digits[11];
  char* p = digits + sizeof digits - 1;
  *p = '\0';
  do {
    *--p = (char)('0' + value % 10);
    value /= 10;
  } while (value != 0);
  board_write(p);
}

void board_write_f32(float value) {
  if (value != value) {
    board_write("nan");
    return;
  }
  if (value < 0) {
    board_write("-");
    value = -value;
  }
  if (value >= 2147483648.0f) {
    board_write("inf");
    return;
  }
  uint32_t whole = (uint32_t)value;
  uint32_t fraction = (uint32_t)((value - (float)whole) * 1e6f + 0.5f);
  if (fraction >= 1000000u) {
    ++whole;
    fraction -= 1000000u;
  }
  board_write_u32(whole);
  board_write(".");
  for (uint32_t place = 100000u; place > 1u && fraction < place; place /= 10u) board_write("0");
  board_write_u32(fraction);
}

void board_exit(int status) {
  const uint32_t block[2] = {0x20026u /* ADP_Stopped_ApplicationExit */, (uint32_t)status};
  (void)semihost(0x20 /* SYS_EXIT_EXTENDED */, block);
  for (;;) {
  }
}

uint32_t board_stack_bytes_used(void) {
  const uint32_t* p = image_stack_low;
  while (p < image_stack_top && *p == (uint32_t)kStackPaint) ++p;
  return (uint32_t)((const char*)image_stack_top - (const char*)p);
}

/* newlib's abort() raises a signal and libstdc++'s handler for a pure virtual call prints through the demangler: both
 * link the heap. Constant objects are never destroyed here, so there is nothing to register for exit. */
void abort(void) {
  board_write("abort\n");
  board_exit(134);
}
void __cxa_pure_virtual(void) { abort(); }
int __aeabi_atexit(void* object, void (*destroy)(void*), void* handle) {
  (void)object;
  (void)destroy;
  (void)handle;
  return 0;
}
void* __dso_handle;

static void fault(void) {
  board_write("fault\n");
  board_exit(139);
}

void board_reset(void);
void board_reset(void) {
  volatile uint32_t* const cpacr =
      (volatile uint32_t*)0xE000ED88u; /* ARMv7-M ARM, B3.2.20: full access to CP10, CP11 */
  *cpacr |= 0xFu << 20;
  __asm__ volatile("dsb\n isb" ::: "memory");
  const uint32_t* from = image_data_load;
  for (volatile uint32_t* to = image_data_begin; to < image_data_end;) *to++ = *from++;
  for (volatile uint32_t* to = image_bss_begin; to < image_bss_end;) *to++ = 0;
  uint32_t* const here = (uint32_t*)__builtin_frame_address(0);
  for (volatile uint32_t* p = image_stack_low; p < here - 64; ++p) *p = (uint32_t)kStackPaint;
  for (void (**init)(void) = image_init_begin; init < image_init_end; ++init) (*init)();
  board_exit(main());
}

typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) static const vector kVectors[16] = {
    (vector)image_stack_top, board_reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, fault};
