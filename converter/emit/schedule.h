// Orders in which the nodes of a subgraph can run, for a small arena.
//
// The smallest peak over all topological orders is NP-hard to find (Sethi, "Complete register allocation problems",
// 1975). Weighed: exact dynamic programming over sets of done nodes (as in Ahn et al., "Ordering Chaos", MLSys 2020:
// hours where many branches are open at once), one greedy order (fast, often wrong at a fork), and the same dynamic
// programming with only the best few states kept at each step. The last one is built: its cost is bounded, and it finds
// the exact optimum wherever no more states than it keeps are open.
#ifndef VIREO_CONVERTER_EMIT_SCHEDULE_H_
#define VIREO_CONVERTER_EMIT_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "sdk/plan/planner.h"

namespace vireo::emit {

// Topological orders of `nodes` worth planning: the given one first, then a depth-first one and the one of the search;
// without repeats. Orders are lists of node indices.
std::vector<std::vector<uint32_t>> candidate_orders(Span<const PlanTensor> tensors, Span<const PlanNode> nodes,
                                                    size_t width = 64);

}  // namespace vireo::emit

#endif  // VIREO_CONVERTER_EMIT_SCHEDULE_H_
