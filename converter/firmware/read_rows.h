// What readers of nodes share: sizes, operands, and how two operands are broadcast.
#ifndef VIREO_CONVERTER_FIRMWARE_READ_ROWS_H_
#define VIREO_CONVERTER_FIRMWARE_READ_ROWS_H_

#include "converter/firmware/calls.h"
#include "sdk/graph/node_view.h"
#include "sdk/ops/shared/broadcast.h"

namespace vireo::firmware {

inline constexpr const char* kSizes = "its sizes are beyond what kernels for microcontrollers count in 32 bits";
// Of what is known to fit.
inline int32_t small(int64_t v) { return static_cast<int32_t>(v); }
inline int32_t input(const NodeView& q, uint32_t i) { return i < q.node.input_count ? q.node.inputs[i] : kNothing; }

// Rows of inputs 0 and 1 as one step from each to the next; false where they have no such pattern.
// Binary: rows, columns, a_row, a_step, b_row, b_step.
template <class Binary>
bool read_rows(const NodeView& q, Binary* f) {
  const Shape* const shapes[] = {&q.inputs[0].type.shape, &q.inputs[1].type.shape};
  const Broadcast walk(q.outputs[0].type.shape, shapes, 2);
  const int64_t rows = walk.rows();
  f->rows = static_cast<int32_t>(rows);
  f->columns = static_cast<int32_t>(walk.row());
  f->a_step = static_cast<int32_t>(walk.step(0));
  f->b_step = static_cast<int32_t>(walk.step(1));
  f->a_row = static_cast<int32_t>(rows > 1 ? walk.offset(0, 1) : 0);
  f->b_row = static_cast<int32_t>(rows > 1 ? walk.offset(1, 1) : 0);
  for (int64_t r = 0; r < rows; ++r) {
    if (walk.offset(0, r) != r * f->a_row || walk.offset(1, r) != r * f->b_row) return false;
  }
  return true;
}

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_READ_ROWS_H_
