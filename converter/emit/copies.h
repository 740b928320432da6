// Slice, Split, Concat and Gather in a plan: where their parts could lie in the whole, where they do, and why not.
#ifndef VIREO_CONVERTER_EMIT_COPIES_H_
#define VIREO_CONVERTER_EMIT_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sdk/format/model_generated.h"
#include "sdk/plan/bounds.h"
#include "sdk/plan/planner.h"

namespace vireo::emit {

// The bytes of a tensor that is a constant, else null.
using ConstantOf = std::function<const void*(size_t subgraph, int32_t tensor)>;

// The bounds of a dimension as the file writes it.
using BoundsOf = std::function<Interval(int64_t)>;

// What one run of each subgraph copies, and what it need not, at the upper bounds.
struct CopyReport {
  uint64_t saved_bytes = 0;
  uint64_t left_bytes = 0;
  size_t saved = 0;                       // parts that lie in their whole
  std::map<std::string, size_t> reasons;  // of those that are copied
};

// PlanNode::at of node `n`; empty where no part is a run of the whole's bytes.
std::vector<int64_t> parts_of(const fb::SubgraphT& g, const fb::NodeT& n, const BoundsOf& bounds_of,
                              const std::function<const void*(int32_t)>& constant_of);

// Adds what node `n` does under `offsets`. `at`: its parts_of; `apart`: the plan was made without them.
void count_copies(const fb::NodeT& n, Span<const PlanTensor> tensors, const std::vector<uint64_t>& offsets,
                  const std::vector<int64_t>& at, bool apart, CopyReport* report);

// The same of a file's portable plan, from the bytes of the whole file; tensors of symbolic shapes count as empty.
CopyReport count_copies(const fb::Model& model, const uint8_t* file);

}  // namespace vireo::emit

#endif  // VIREO_CONVERTER_EMIT_COPIES_H_
