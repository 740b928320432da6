// Which tensors share memory, and where in it each lies. Private to the planner.
//
// A group is a run of memory in which its tensors have fixed places: views and results of in-place operators over what
// they were made from, parts inside their whole (PlanNode::at). Groups grow in the order in which nodes run. A tensor
// joins only where no node then changes a byte that another one still needs:
//   - a part that lies at its place in the whole is not copied, so nothing is written;
//   - what a node does write (a result in place, the parts of a whole that lie elsewhere) must be needed by nobody but
//     the operands that the operator promises to have read.
// The runtime checks plans from files by the same rule (runtime/prepare/layout.cc).
#ifndef VIREO_SDK_PLAN_GROUPS_H_
#define VIREO_SDK_PLAN_GROUPS_H_

#include "sdk/plan/planner.h"

namespace vireo {

struct Member {
  int32_t root = 0;   // the tensor that stands for the group
  int32_t next = 0;   // ring of the group's tensors
  int32_t first = 0;  // node that writes it, and the last that needs it
  int32_t last = -1;
  int64_t shift = 0;  // bytes from the root's first to its own; may be negative
};

// The memory of a group or of a node's region, as it is packed. Of tensors only roots count.
struct Item {
  uint64_t bytes = 0;
  uint64_t offset = kNoOffset;
  int64_t low = 0, high = 0;  // where the group begins and ends, from the root's first byte
  int32_t first = 0;          // node before whose run the memory is written; -1: from the start
  int32_t last = -1;          // node after which it is free
  int32_t alias = -1;         // lies in the memory of the body's bound output `alias`
};

struct Groups {
  Span<const PlanTensor> tensors;
  Span<const PlanNode> nodes;
  Member* members = nullptr;  // per tensor
  Item* items = nullptr;      // per tensor, then per region
  uint64_t placed_bytes = 0;  // of parts inside their whole

  // Lives of all tensors, each in a group of its own.
  Status start(Error* error);
  // Lets node `n` place its results, and with `parts` what belongs inside a whole.
  void share(int32_t n, bool body, bool parts);

 private:
  struct Range {
    int64_t low, high;
  };
  Range range(int32_t t) const;
  bool is_value(int32_t t) const;
  bool fits_inside(int32_t part, int32_t whole, int64_t at) const;
  void join(int32_t t, int32_t root, int64_t move);
  bool may_overwrite(int32_t n, size_t i) const;
  bool finds_in_place(int32_t n, Range needed, int32_t whole, int32_t joining, int64_t move) const;
  void place_outputs(int32_t n);
  bool place_input(int32_t n, size_t i);
  void share_result(int32_t n, bool body);
};

}  // namespace vireo

#endif  // VIREO_SDK_PLAN_GROUPS_H_
