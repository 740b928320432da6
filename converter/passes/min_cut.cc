#include "converter/passes/min_cut.h"

#include <algorithm>

namespace vireo::passes {

int MinCut::add_node() {
  out_.emplace_back();
  return static_cast<int>(out_.size()) - 1;
}

void MinCut::add_edge(int from, int to, int64_t cost) {
  if (cost <= 0 || from == to) return;
  out_[static_cast<size_t>(from)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({to, cost});
  out_[static_cast<size_t>(to)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({from, 0});
}

bool MinCut::level() {
  level_.assign(out_.size(), -1);
  std::vector<int> queue{kSource};
  level_[kSource] = 0;
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const int e : out_[static_cast<size_t>(queue[i])]) {
      const Edge& edge = edges_[static_cast<size_t>(e)];
      int& there = level_[static_cast<size_t>(edge.to)];
      if (edge.room <= 0 || there >= 0) continue;
      there = level_[static_cast<size_t>(queue[i])] + 1;
      queue.push_back(edge.to);
    }
  }
  return level_[kSink] >= 0;
}

// As deep as a path has nodes, at most: a level each.
int64_t MinCut::push(int node, int64_t most) {
  if (node == kSink) return most;
  const auto at = static_cast<size_t>(node);
  for (size_t& i = next_[at]; i < out_[at].size(); ++i) {
    const auto e = static_cast<size_t>(out_[at][i]);
    if (edges_[e].room <= 0 || level_[static_cast<size_t>(edges_[e].to)] != level_[at] + 1) continue;
    const int64_t pushed = push(edges_[e].to, std::min(most, edges_[e].room));
    if (pushed == 0) continue;
    edges_[e].room -= pushed;
    edges_[e ^ 1].room += pushed;
    return pushed;
  }
  return 0;
}

int64_t MinCut::solve() {
  int64_t flow = 0;
  while (level()) {
    next_.assign(out_.size(), 0);
    while (const int64_t pushed = push(kSource, kForbidden)) flow += pushed;
  }
  // What still reaches the sink cannot be elsewhere in any cheapest cut.
  at_sink_.assign(out_.size(), 0);
  std::vector<int> queue{kSink};
  at_sink_[kSink] = 1;
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const int e : out_[static_cast<size_t>(queue[i])]) {
      const Edge& back = edges_[static_cast<size_t>(e ^ 1)];  // into the node in hand
      const int from = edges_[static_cast<size_t>(e)].to;
      if (back.room <= 0 || at_sink_[static_cast<size_t>(from)] != 0) continue;
      at_sink_[static_cast<size_t>(from)] = 1;
      queue.push_back(from);
    }
  }
  return flow;
}

}  // namespace vireo::passes
