// Two operands that are broadcast to one shape, as the kernels on codes walk them.
#ifndef VIREO_DELEGATES_CPU_BROADCAST_ROWS_H_
#define VIREO_DELEGATES_CPU_BROADCAST_ROWS_H_

#include "delegates/cpu/kernels/codes/codes.h"
#include "sdk/ops/shared/broadcast.h"

namespace vireo::cpu {

// Refers to `walk`.
inline BinaryRows broadcast_rows(const Broadcast& walk) {
  BinaryRows rows;
  rows.rows = walk.rows();
  rows.row = walk.row();
  rows.a_step = walk.step(0);
  rows.b_step = walk.step(1);
  rows.offset = [](const void* context, int operand, int64_t row) {
    return static_cast<const Broadcast*>(context)->offset(operand, row);
  };
  rows.context = &walk;
  return rows;
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_BROADCAST_ROWS_H_
