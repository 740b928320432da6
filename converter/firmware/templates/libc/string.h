/* The two functions that the kernels take of a C library, for compilers that come without one. */
#ifndef STRING_H_
#define STRING_H_

#include <stddef.h>

void* memcpy(void* to, const void* from, size_t bytes);
void* memset(void* to, int value, size_t bytes);
int memcmp(const void* a, const void* b, size_t bytes);

#endif /* STRING_H_ */
