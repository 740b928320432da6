/* Used where no C library has them: a library's own are taken before these. */
#include "string.h"

#include <stdint.h>

__attribute__((weak)) void* memcpy(void* to, const void* from, size_t bytes) {
  uint8_t* t = (uint8_t*)to;
  const uint8_t* f = (const uint8_t*)from;
  while (bytes-- > 0) *t++ = *f++;
  return to;
}

__attribute__((weak)) void* memset(void* to, int value, size_t bytes) {
  uint8_t* t = (uint8_t*)to;
  while (bytes > 0 && ((uintptr_t)t & 3) != 0) *t++ = (uint8_t)value, --bytes;
  for (const uint32_t word = (uint8_t)value * 0x01010101u; bytes >= 4; bytes -= 4, t += 4) *(uint32_t*)(void*)t = word;
  while (bytes-- > 0) *t++ = (uint8_t)value;
  return to;
}

__attribute__((weak)) int memcmp(const void* a, const void* b, size_t bytes) {
  const uint8_t *x = (const uint8_t*)a, *y = (const uint8_t*)b;
  for (; bytes > 0; --bytes, ++x, ++y) {
    if (*x != *y) return *x - *y;
  }
  return 0;
}
