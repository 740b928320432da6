// The cheapest way to part nodes between two sides: sdk/plan/min_cut.h for a network that grows edge by edge.
#ifndef VIREO_CONVERTER_PASSES_LAYOUT_MIN_CUT_H_
#define VIREO_CONVERTER_PASSES_LAYOUT_MIN_CUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sdk/plan/min_cut.h"

namespace vireo::passes {

// A directed network; an edge costs its capacity when its tail is on the source's side and its head on the sink's. The
// answer does not depend on the order of edges.
class MinCut {
 public:
  static constexpr int kSource = kCutSource, kSink = kCutSink;
  // Nanoseconds: four hours; 2^18 such edges at the source are no overflow.
  static constexpr int64_t kForbidden = int64_t{1} << 44;

  int add_node() { return points_++; }
  void add_edge(int from, int to, int64_t cost);
  int64_t solve();  // what the cut costs; once
  // After `solve`: of all cheapest cuts the one with the fewest nodes on the sink's side.
  bool at_sink(int node) const { return at_sink_[static_cast<size_t>(node)] != 0; }

 private:
  std::vector<CutEdge> edges_;
  std::vector<uint8_t> at_sink_;
  int points_ = 2;
};

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_LAYOUT_MIN_CUT_H_
