// The passes, in their order, and the checks between them.
#ifndef VIREO_CONVERTER_PASSES_PIPELINE_H_
#define VIREO_CONVERTER_PASSES_PIPELINE_H_

#include <string>
#include <vector>

#include "converter/convert.h"
#include "converter/ir/graph.h"
#include "converter/passes/pass.h"

namespace vireo::passes {

// Sees the graph before the first pass and after each; says false, with a diagnostic, to stop.
class Observer {
 public:
  virtual bool begin(const ir::Graph& graph) = 0;
  virtual bool after(const char* pass, const ir::Graph& graph, PassLog* report) = 0;

 protected:
  ~Observer() = default;
};

// Runs the pipeline on `graph` and all bodies. False with a diagnostic when a pass broke the graph or `observer` (may
// be null) says stop.
bool run_pipeline(ir::Graph& graph, const ConvertOptions& options, Observer* observer, Diagnostics* diagnostics,
                  ConvertReport* report);

// The same for any passes, in their order: what run_pipeline is made of.
bool run_passes(ir::Graph& graph, const std::vector<const Pass*>& passes, Observer* observer, Diagnostics* diagnostics,
                ConvertReport* report);

// Rounds over `quantized`, each followed by rounds over `repeated`, until one changes nothing; after `most` of them, or
// where a round over `repeated` leaves the measure as it was, a warning says what was going on.
bool run_rounds(ir::Graph& graph, const std::vector<const Pass*>& quantized, const std::vector<const Pass*>& repeated,
                int most, Diagnostics* diagnostics, ConvertReport* report);

// Runs `pass` on `graph` alone, not on bodies. Nodes that the pass made for an attempt that it gave up, and which
// nothing uses, are gone afterwards: a pass may decline late.
void run_pass(ir::Graph& graph, const Pass& pass, PassLog& log,
              const target::KernelCosts& costs = target::default_costs());

// The pass of this name; null: there is none.
const Pass* find_pass(const std::string& name);

// Whether the pass runs until nothing changes, and has therefore to lower the measure of measure.h.
bool is_repeated(const Pass& pass);

// "Conv"; a composite's hint.
std::string kind_of(const ir::Node& node);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_PIPELINE_H_
