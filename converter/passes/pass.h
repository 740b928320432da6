// What a pass is. One page each: see the heads of the .cc files, and README.md for how to add one.
#ifndef VIREO_CONVERTER_PASSES_PASS_H_
#define VIREO_CONVERTER_PASSES_PASS_H_

#include <string>
#include <utility>
#include <vector>

#include "converter/ir/graph.h"
#include "converter/ir/infer.h"

namespace vireo::passes {

// What a pass did, and why it left alone what looked like its case.
struct PassLog {
  size_t changes = 0;
  std::vector<std::pair<std::string, std::string>> declined;  // node, reason

  void changed(size_t n = 1) { changes += n; }
  // Says why a near match stays as it is. For the reader of a report and for tests; matching goes on.
  void reject(const ir::Node& node, const std::string& reason) { declined.emplace_back(node.name, reason); }
};

// A pass changes one graph (the pipeline visits bodies itself), keeps its promises (ir/graph.h), is deterministic, and
// finds nothing to do when it runs again at once.
struct Pass {
  const char* name;
  void (*run)(ir::Graph& graph, PassLog& log);
  // Of an output's largest value: what its check must allow at least, where it replaces arithmetic by other arithmetic.
  double check_atol = 0;
};

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_PASS_H_
