// The cheapest way to part points between two sides.
//
// Used by the converter (which nodes work channels last) and by sessions (which device runs a node). No heap: the
// caller brings workspace.
//
// Push-relabel from the highest label (Goldberg and Tarjan, J. ACM 35, 1988; Cherkassky and Goldberg, Algorithmica 19,
// 1997), with labels set anew by a search from the sink and a whole shore given up at a gap: at most
// O(points^2 sqrt(edges)). Augmenting paths by length (Dinic 1970) were set aside: models are long chains, where a
// chain of n points that all lean one way until its middle, and the other way from there, takes n phases of the whole
// network. Here what is too much moves along the chain once, all of it together.
#ifndef VIREO_SDK_PLAN_MIN_CUT_H_
#define VIREO_SDK_PLAN_MIN_CUT_H_

#include <stdint.h>

#include "sdk/base/error.h"
#include "sdk/base/span.h"
#include "sdk/base/status.h"

namespace vireo {

constexpr int32_t kCutSource = 0, kCutSink = 1;

struct CutEdge {
  int32_t from = 0, to = 0;
  int64_t cost = 0;  // when `from` is on the source's side and `to` on the sink's; not negative
  int64_t back = 0;  // the other way round
};

struct CutResult {
  int64_t cost = 0;
  uint64_t operations = 0;  // edges looked at: what the time depends on
};

// Bytes of workspace for `points` (source and sink among them) and `edges`.
int64_t min_cut_workspace_bytes(int64_t points, int64_t edges);

// Fills `at_sink` (one a point). Of all cheapest cuts the one with the fewest points on the sink's side: it does not
// depend on the order of edges. The costs of all edges at the source, together, are below 2^62. `workspace` is aligned
// to 8. kOutOfArena when it is too small, kInvalidArgument for an edge of a point that there is not.
Status min_cut(int32_t points, Span<const CutEdge> edges, Span<uint8_t> workspace, Span<uint8_t> at_sink,
               CutResult* result, Error* error);

}  // namespace vireo

#endif  // VIREO_SDK_PLAN_MIN_CUT_H_
