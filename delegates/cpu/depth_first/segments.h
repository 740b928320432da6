// Which neighbours of a stretch run strip by strip (sdk/plan/strips.h), and how high their strips are.
//
// Values that one image makes may leave the caches, too. Neighbours that run strip by strip keep some rows of them. It
// costs a call of each node for each strip, their weights once more where those do not stay near the core, and tiles
// that are not full. A node that multiplies for long hides the way of its values: there is nothing to save.
#ifndef VIREO_DELEGATES_CPU_DEPTH_FIRST_SEGMENTS_H_
#define VIREO_DELEGATES_CPU_DEPTH_FIRST_SEGMENTS_H_

#include "delegates/cpu/depth_first/by_row.h"

namespace vireo::cpu {

struct RowValue {
  int64_t rows = 0;
  double row_bytes = 0;
  int32_t maker = -1;
  int32_t last_reader = -1;
  bool whole = false;  // somebody else reads it
};
struct RowNode {
  bool able = false;  // by_row.h
  RowForm form;
  int32_t output = -1;
  Span<const int32_t> inputs;  // that have rows
  double constant_bytes = 0;
  double work_ns = 0;  // of its multiplications, one thread
};

// RowNode::work_ns of a node with this output.
double row_work_ns(const RowForm& form, const TensorType& y);

struct Segment {
  uint32_t first = 0;
  uint32_t count = 0;
  int64_t height = 0;  // rows of the last node's output in a strip
};

struct SegmentRoom {
  double saved = 0;
  uint32_t from = 0;
  int64_t height = 0;
};

// The segments that save most time together, in order: how many. `out`: room for as many as there are nodes; `room`:
// one more than nodes.
uint32_t find_segments(Span<const RowNode> nodes, Span<const RowValue> values, int32_t slots, Span<SegmentRoom> room,
                       Segment* out);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_DEPTH_FIRST_SEGMENTS_H_
