/* Elements that change their places: the same for all types. */
#ifndef VIREO_DELEGATES_MCU_KERNELS_MOVES_H_
#define VIREO_DELEGATES_MCU_KERNELS_MOVES_H_

#include "delegates/mcu/kernels/requantize.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VIREO_MCU_MOVE_AXES = 6 };

/* y[i0, i1, ...] = x[first + i0 step[0] + i1 step[1] + ...], y of dims: Transpose, Slice, Split, Expand. element_bytes:
 * 1, 2 or 4. Both are aligned to it. A unit is a line along the last axis. */
typedef struct {
  int32_t dims[VIREO_MCU_MOVE_AXES], step[VIREO_MCU_MOVE_AXES]; /* axes that are not there have 1 and 0 */
  int32_t first, element_bytes;
} vireo_mcu_move;
void vireo_mcu_move_run(const vireo_mcu_move* m, const void* x, void* y, vireo_mcu_units units);
uint32_t vireo_mcu_move_units(const vireo_mcu_move* m);

/* Rows of y are the rows of up to six operands, one behind the other: Concat. A unit is a row. */
enum { VIREO_MCU_JOINED = 6 };
typedef struct {
  int32_t rows, count;
  int32_t bytes[VIREO_MCU_JOINED]; /* of an operand's row */
} vireo_mcu_join;
void vireo_mcu_join_run(const vireo_mcu_join* j, void* const x[VIREO_MCU_JOINED], void* y, vireo_mcu_units units);

#ifdef __cplusplus
}
#endif

#endif /* VIREO_DELEGATES_MCU_KERNELS_MOVES_H_ */
