// The cheapest way to part nodes between two sides.
#ifndef VIREO_CONVERTER_PASSES_MIN_CUT_H_
#define VIREO_CONVERTER_PASSES_MIN_CUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace vireo::passes {

// A directed network; an edge costs its capacity when its tail is on the source's side and its head on the sink's.
// Dinic's algorithm: E. A. Dinic, Soviet Math. Doklady 11, 1970. The answer does not depend on the order of edges.
class MinCut {
 public:
  static constexpr int kSource = 0, kSink = 1;
  static constexpr int64_t kForbidden = int64_t{1} << 50;

  int add_node();
  void add_edge(int from, int to, int64_t cost);
  int64_t solve();  // what the cut costs; once
  // After `solve`: of all cheapest cuts the one with the fewest nodes on the sink's side.
  bool at_sink(int node) const { return at_sink_[static_cast<size_t>(node)]; }

 private:
  struct Edge {
    int to;
    int64_t room;
  };
  bool level();
  int64_t push(int node, int64_t most);

  std::vector<Edge> edges_;  // each followed by its reverse
  std::vector<std::vector<int>> out_ = std::vector<std::vector<int>>(2);
  std::vector<int> level_;
  std::vector<size_t> next_;
  std::vector<char> at_sink_;
};

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_MIN_CUT_H_
