// The converter's Evaluator over the C API: passes are checked, and quantizers calibrated, with the runtime that users
// get.
#ifndef VIREO_CONVERTER_CLI_SESSION_EVALUATOR_H_
#define VIREO_CONVERTER_CLI_SESSION_EVALUATOR_H_

#include <memory>
#include <string>
#include <vector>

#include "converter/stage/evaluator.h"

namespace vireo::cli {

class SessionEvaluator : public Evaluator {
 public:
  std::unique_ptr<PreparedGraph> prepare(const ir::Graph& graph, const std::vector<const ir::Value*>& taps,
                                         std::string* error) override;
  bool run(Span<const uint8_t> vireo, const std::vector<HostTensor>& inputs, std::vector<HostTensor>* outputs,
           std::string* error) override;
};

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_SESSION_EVALUATOR_H_
