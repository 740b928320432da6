/* The serial port of Arm's MPS2 boards, which qemu shows as standard output. A board of yours has its own. */
#ifndef UART_H_
#define UART_H_

#include <stdint.h>

#define UART ((volatile uint32_t*)0x40004000u) /* data, state, control, interrupts, baud rate */

static inline void uart_write(const char* text) {
  UART[4] = 16; /* the least divisor; a real clock divided by it is the rate */
  UART[2] = 1;  /* transmit */
  for (; *text != 0; ++text) {
    while ((UART[1] & 1) != 0) { /* full */
    }
    UART[0] = (uint8_t)*text;
  }
}

static inline void uart_number(uint32_t n) {
  char digits[11] = {0}, *p = digits + 10;
  do *--p = (char)('0' + n % 10);
  while ((n /= 10) != 0);
  uart_write(p);
}

#endif /* UART_H_ */
