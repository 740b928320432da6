// The passes, in their order, and the checks between them.
#ifndef VIREO_CONVERTER_PASSES_PIPELINE_H_
#define VIREO_CONVERTER_PASSES_PIPELINE_H_

#include <string>

#include "converter/convert.h"
#include "converter/ir/graph.h"

namespace vireo::passes {

// Runs the pipeline on `graph` and all bodies. False with a diagnostic when --check finds that a pass changed what the graph
// computes.
bool run_pipeline(ir::Graph& graph, const ConvertOptions& options, Diagnostics* diagnostics, ConvertReport* report);

// "Conv"; a composite's hint.
std::string kind_of(const ir::Node& node);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_PIPELINE_H_
