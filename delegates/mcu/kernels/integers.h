/* Integers element by element, their casts, and where the greatest element of a line is. */
#ifndef VIREO_DELEGATES_MCU_KERNELS_INTEGERS_H_
#define VIREO_DELEGATES_MCU_KERNELS_INTEGERS_H_

#include "delegates/mcu/kernels/requantize.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Types of elements. A bool is a byte, 0 or 1. */
enum {
  VIREO_MCU_BYTE,
  VIREO_MCU_SIGNED_BYTE,
  VIREO_MCU_HALF,
  VIREO_MCU_SIGNED_HALF,
  VIREO_MCU_WORD,
  VIREO_MCU_SIGNED_WORD,
  VIREO_MCU_BOOL,
  VIREO_MCU_LONG, /* int64: cast alone */
  VIREO_MCU_REAL, /* float32: cast and greatest alone */
  VIREO_MCU_TYPES
};

enum {
  VIREO_MCU_INT_ADD,
  VIREO_MCU_INT_SUB,
  VIREO_MCU_INT_MUL,
  VIREO_MCU_INT_DIV,     /* towards 0; by 0 it is 0 */
  VIREO_MCU_INT_REST,    /* of that division, with a's sign; by 0 it is 0 */
  VIREO_MCU_INT_MODULUS, /* with b's sign */
  VIREO_MCU_INT_MIN,
  VIREO_MCU_INT_MAX,
  VIREO_MCU_INT_AND,
  VIREO_MCU_INT_OR,
  VIREO_MCU_INT_XOR,
  VIREO_MCU_INT_LEFT, /* shifts: by less than 0, or by the width and more, leaves what sign extension leaves */
  VIREO_MCU_INT_RIGHT,
  VIREO_MCU_INT_EQUAL, /* from here on y is of bytes, 0 or 1 */
  VIREO_MCU_INT_LESS,
  VIREO_MCU_INT_LESS_OR_EQUAL,
  VIREO_MCU_INT_OPERATIONS
};
/* y[r, i] = a[r * a_row + i * a_step] . b[...], all of `type`, results modulo its width. A unit is a part of a row
 * (parts.h). */
typedef struct {
  int32_t rows, columns, a_row, a_step, b_row, b_step;
  uint8_t what, type, reserved[2];
} vireo_mcu_integers;
void vireo_mcu_integers_run(const vireo_mcu_integers* f, const void* a, const void* b, void* y, vireo_mcu_units units);

/* A float32 goes towards 0, at most to the ends of the type; a NaN to the lowest number. */
typedef struct {
  int32_t count;
  uint8_t from, to, reserved[2];
} vireo_mcu_cast;
void vireo_mcu_cast_run(const vireo_mcu_cast* c, const void* x, void* y, vireo_mcu_units units);

/* y [outer, inner], int64: which element of x [outer, axis, inner] is the greatest of its line, or the least; of equal
 * ones the first, or the last. A NaN is greater and less than any number. A unit is a line. */
typedef struct {
  int32_t outer, axis, inner;
  uint8_t type, least, last, reserved;
} vireo_mcu_greatest;
void vireo_mcu_greatest_run(const vireo_mcu_greatest* g, const void* x, uint32_t* y, vireo_mcu_units units);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATES_MCU_KERNELS_INTEGERS_H_ */
