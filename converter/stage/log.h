// What a pass, or a stage that the caller handed in, did to a graph: the one log of all that changes graphs.
#ifndef VIREO_CONVERTER_STAGE_LOG_H_
#define VIREO_CONVERTER_STAGE_LOG_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "converter/ir/graph.h"

namespace vireo {

// How near weights that were changed are to what they were.
struct WeightError {
  std::string tensor;
  double sqnr_db = 0;  // 10 log10(sum w^2 / sum (w - w')^2)
  // sqrt(sum (w - w')^2 / sum w^2) over the weights of one output, at worst; 0: within what the type's digits promise.
  double lost = 0;
};

struct PassLog {
  std::string name;
  const char* unit = nullptr;  // what `changes` counts ("products"), of a stage that was handed in; null: of a pass
  size_t changes = 0;
  std::vector<std::pair<std::string, std::string>> declined;  // node, reason
  std::vector<WeightError> errors;                            // of what measures them
  bool checked = false;                                       // with --check, where something changed
  double max_difference = 0;                                  // then: largest |d| / max|ref| over all outputs
  // Set: a stage cannot do what it was asked for, and the conversion ends; what to do next is in the second.
  std::string failure, failure_help;
  // Is called before a tensor is changed, with its name and the share of the work that is behind. May be empty.
  std::function<void(const std::string& tensor, double share)> progress;

  void changed(size_t n = 1) { changes += n; }
  // Says why a near match stays as it is. For the reader of a report and for tests; matching goes on.
  void reject(const ir::Node& node, const std::string& reason) { declined.emplace_back(node.name, reason); }
};

}  // namespace vireo

#endif  // VIREO_CONVERTER_STAGE_LOG_H_
