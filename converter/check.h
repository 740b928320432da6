// --check: after each pass that changed something, what the graph computes is compared with what it computed before, on
// real inputs and through real sessions. A difference is blamed on the pass and on the first value that differs.
#ifndef VIREO_CONVERTER_CHECK_H_
#define VIREO_CONVERTER_CHECK_H_

#include <memory>
#include <string>
#include <vector>

#include "converter/convert.h"
#include "converter/ir/graph.h"
#include "converter/passes/pipeline.h"

namespace vireo {

class PassChecker final : public passes::Observer {
 public:
  PassChecker(const ConvertOptions& options, Diagnostics* diagnostics) : options_(options), diagnostics_(diagnostics) {}

  bool begin(const ir::Graph& graph) override;
  bool after(const char* pass, const ir::Graph& graph, PassLog* report) override;
  // The values that the graph before the first pass and the one after the last both have, compared on the same inputs,
  // worst first. On failure: false, and `error` tells why.
  bool layers(std::vector<LayerReport>* layers, std::string* error) const;

 private:
  using Results = std::vector<std::vector<HostTensor>>;  // by input set, then output
  // Runs `graph` with further outputs for the values named in `taps`.
  bool evaluate(const ir::Graph& graph, const std::vector<std::string>& taps, Results* results,
                std::string* error) const;
  bool build(const ir::Graph& graph, const std::vector<std::string>& taps, FileBytes* file, std::string* error) const;
  bool run(const FileBytes& file, Results* results, std::string* error) const;
  // Makes inputs that `file`, which is `graph`, runs on. False, with diagnostics, where none are found.
  bool make_up_inputs(const ir::Graph& graph, const FileBytes& file);
  // Of output `i` after `pass`: as difference().
  double compare(size_t i, const HostTensor& now, const HostTensor& then, double atol, const passes::Pass* pass,
                 bool* within) const;
  std::string blame(const ir::Graph& graph) const;

  const ConvertOptions& options_;
  Diagnostics* diagnostics_;
  std::unique_ptr<ir::Graph> first_, before_;
  Results reference_;
  std::vector<std::vector<HostTensor>> inputs_;
  double stage_atol_ = 0;      // from a stage on that the caller handed in
  std::vector<bool> random_;   // outputs that depend on random nodes
  std::vector<bool> rounded_;  // outputs that depend on nodes which round to codes
};

// Largest |d| / max|ref|, or infinity where types, shapes, NaNs or integers differ; `within`: |d| <= atol max|ref| +
// rtol |ref|.
double difference(const HostTensor& a, const HostTensor& reference, double atol, double rtol, bool* within);
// Of codes: the largest difference over the span of the reference's; infinity where types or shapes differ. `within`: a
// code, or `atol` of the span.
double code_difference(const HostTensor& a, const HostTensor& reference, double atol, bool* within);

}  // namespace vireo

#endif  // VIREO_CONVERTER_CHECK_H_
