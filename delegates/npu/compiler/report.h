// What a compiled graph is and what it costs, for people and for programs.
#ifndef VIREO_DELEGATES_NPU_COMPILER_REPORT_H_
#define VIREO_DELEGATES_NPU_COMPILER_REPORT_H_

#include <string>

#include "delegates/npu/compiler/compiler.h"

namespace vireo::npu {

// One line a command: number, name, the fields that are not 0, and behind a semicolon the layer it belongs to.
std::string listing(const Graph& graph, const Compiled& compiled);

// A line a layer and one for the whole. A layer's cycles are those in which its command was the oldest at work, so they
// add up. Its utilisation is that of the engine while it works on the layer, stalls included; that of the whole counts
// every cycle. `node` is the model's (-1: none), `cut` the section of layers that run as one cascade. In JSON the same
// numbers under names.
std::string report_text(const Graph& graph, const Compiled& compiled, const MachineConfig& config);
std::string report_json(const Graph& graph, const Compiled& compiled, const MachineConfig& config);

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_COMPILER_REPORT_H_
