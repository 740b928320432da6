// Where the tensors of a session lie: the file's plan, checked, or one of the planner's.
#ifndef VIREO_RUNTIME_PREPARE_ARENA_PLAN_H_
#define VIREO_RUNTIME_PREPARE_ARENA_PLAN_H_

#include "runtime/prepare/layout.h"

namespace vireo {

// Temporary memory for the largest subgraph.
struct PlanWorkspace {
  PlanTensor* tensors = nullptr;
  PlanNode* nodes = nullptr;
  int64_t* at = nullptr;    // PlanNode::at of all nodes
  int32_t* live = nullptr;  // check_plan: tensors that are alive
  int32_t* last_use = nullptr;
  uint64_t* before = nullptr;  // plan_together: the plan that it may go back to
  uint8_t* bytes = nullptr;    // plan_arena's own
  size_t byte_count = 0;
};

bool owns_bodies(const fb::Node& node);
// Whether node `n` has an entry in SubLayout::regions: for its bodies, or for inner values of the part that it begins.
bool has_region(const SubLayout& layout, uint32_t n, const fb::Node& node);
// Parts of a node that may lie in their whole (sdk/ops/shared/parts.h): what it takes of PlanWorkspace::at.
uint32_t part_count(const fb::Node& node);

// Fills the offsets of subgraph `index`; its bodies are done, an owner needs to know how large they are. A plan from
// the file is refused unless every tensor is inside its region and no node changes bytes that another tensor still
// needs.
Status plan_subgraph(SessionLayout& layout, uint32_t index, bool from_file, const PlanWorkspace& w, Error* error);

// Plans the model itself anew, for nodes that run together (PlanNode::together). `w` as plan_subgraph left it. A plan
// that takes more than the one before is dropped.
Status plan_together(SessionLayout& layout, const PlanWorkspace& w, Error* error);

}  // namespace vireo

#endif  // VIREO_RUNTIME_PREPARE_ARENA_PLAN_H_
