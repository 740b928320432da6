#include "converter/passes/layout/min_cut.h"

#include <stdexcept>

namespace vireo::passes {

void MinCut::add_edge(int from, int to, int64_t cost) {
  if (cost > 0 && from != to) edges_.push_back({from, to, cost, 0});
}

int64_t MinCut::solve() {
  const auto bytes = min_cut_workspace_bytes(points_, static_cast<int64_t>(edges_.size()));
  std::vector<uint64_t> workspace(static_cast<size_t>(bytes) / 8 + 1);
  at_sink_.assign(static_cast<size_t>(points_), 0);
  CutResult result;
  Error error;
  const Status status = min_cut(points_, {edges_.data(), edges_.size()},
                                {reinterpret_cast<uint8_t*>(workspace.data()), workspace.size() * 8},
                                {at_sink_.data(), at_sink_.size()}, &result, &error);
  if (!ok(status)) throw std::logic_error(error.message);  // no network of add_node and add_edge is refused
  return result.cost;
}

}  // namespace vireo::passes
