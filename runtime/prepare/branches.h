// Small independent nodes side by side. A kernel spreads its own work over the threads, which a node of a few
// microseconds does not repay: where several of them do not need one another, each thread takes some of them whole.
//
// A window is a run of nodes, in the model's order, that falls into branches without anything in common: no value that
// one makes and another reads, no byte that one writes and another touches. Each lane runs whole branches; what comes
// before and after a window runs as ever. Everything is decided when the session is built, from costs that are the same
// on every machine, so a model runs the same way each time.
#ifndef VIREO_RUNTIME_PREPARE_BRANCHES_H_
#define VIREO_RUNTIME_PREPARE_BRANCHES_H_

#include "runtime/prepare/arena_plan.h"
#include "runtime/prepare/layout.h"

namespace vireo {

constexpr uint32_t kMostWindow = 64;    // nodes; Step::Window counts to 255
constexpr uint32_t kMostBranches = 16;  // of a window
constexpr int32_t kMostLanes = 8;

// What the threads cost that run a window: a worker that watches is at work after one to two microseconds, and has to
// be counted in at the end. And that run one node after another: less a node, because its halves are alike.
constexpr double kForkNs = 3000, kSpreadNs = 1500;

// What a node takes by itself on `slots` threads.
double spread_ns(double cost, int32_t slots);

// Branches on lanes, the longest first, each to the lane that is free first. Fills `lane_of` and returns what the
// fullest lane takes.
double fill_lanes(const double* costs, uint32_t count, int32_t lanes, uint8_t* lane_of);

// Finds the windows of the model itself (not of bodies) and writes them to its NodeChoices, with what the lanes take to
// `layout`. Arena and bounds are planned, `w` as that left it; the arena is planned anew where branches share bytes,
// and the new plan kept where it takes no more.
Status plan_branches(SessionLayout& layout, const PlanWorkspace& w, Error* error);

}  // namespace vireo

#endif  // VIREO_RUNTIME_PREPARE_BRANCHES_H_
