// Which nodes run strip by strip of an image, channels last: rows of what they make need some rows of what they read.
#ifndef VIREO_DELEGATES_CPU_DEPTH_FIRST_BY_ROW_H_
#define VIREO_DELEGATES_CPU_DEPTH_FIRST_BY_ROW_H_

#include "delegates/cpu/cpu_op.h"
#include "sdk/plan/strips.h"

namespace vireo::cpu {

// A node's inputs that have rows are those of four dimensions with more than one index along the second.
inline bool has_rows(const GraphValue& v) {
  return v.constant == nullptr && v.type.shape.rank == 4 && v.type.shape[1] > 1;
}

struct RowForm {
  int32_t window = -1;  // of the node's inputs, the one that is read by windows
  int64_t taps = 1, stride = 1, pad = 0;
  int64_t products = 0;  // multiplications for an element of the output
  // What has the window: the node, or one of its body. Its attributes' list of pads changes from strip to strip.
  int32_t inner = -1;    // node of the body
  int32_t inner_x = -1;  // value of the body that is read by windows
  const uint8_t* attrs = nullptr;
  size_t attrs_size = 0;
  size_t pads_at = 0;  // bytes from the attributes' first to four of int32: top, left, bottom, right; 0: there are none
};

// False where it does not, or where a shape of it is open.
bool runs_by_row(const CpuQuery& query, RowForm* out);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_DEPTH_FIRST_BY_ROW_H_
