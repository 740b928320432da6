#include "converter/onnx/order.h"

#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string>

#include "converter/onnx/scope.h"

namespace vireo::importer {

std::vector<int> order_nodes(const Nodes& nodes, const Scope& scope, Diagnostics* diagnostics) {
  std::map<std::string, int> maker;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes[i].output()) {
      if (!name.empty()) maker.emplace(name, i);
    }
  }
  const size_t n = static_cast<size_t>(nodes.size());
  std::vector<std::vector<int>> followers(n);
  std::vector<int> waits(n, 0);
  for (int i = 0; i < nodes.size(); ++i) {
    std::set<int> before;
    for (const std::string& name : read_names(nodes[i])) {
      const auto it = maker.find(name);
      if (it != maker.end()) before.insert(it->second);
    }
    for (const int j : before) followers[static_cast<size_t>(j)].push_back(i);
    waits[static_cast<size_t>(i)] = static_cast<int>(before.size());
  }
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < nodes.size(); ++i) {
    if (waits[static_cast<size_t>(i)] == 0) ready.push(i);
  }
  std::vector<int> out;
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    out.push_back(i);
    for (const int j : followers[static_cast<size_t>(i)]) {
      if (--waits[static_cast<size_t>(j)] == 0) ready.push(j);
    }
  }
  if (out.size() == n) return out;
  // What is left lies on a cycle or behind one. Walking back from any of it, always to a maker that is left too, must
  // come round.
  std::vector<int> path;
  std::map<int, size_t> at;
  int i = 0;
  while (waits[static_cast<size_t>(i)] == 0) ++i;
  while (at.count(i) == 0) {
    at[i] = path.size();
    path.push_back(i);
    for (const std::string& name : read_names(nodes[i])) {
      const auto it = maker.find(name);
      if (it != maker.end() && waits[static_cast<size_t>(it->second)] > 0) {
        i = it->second;
        break;
      }
    }
  }
  std::vector<std::string> names;
  for (size_t k = path.size(); k-- > at[i];) names.push_back(node_name(nodes[path[k]], &scope));
  diagnostics->error(Code::kCycle, "the graph has a cycle: " + names_text(names, 6) + " feed each other in a ring",
                     "a graph must not depend on its own results: use Loop or Scan, or carried state between runs");
  return out;
}

}  // namespace vireo::importer
