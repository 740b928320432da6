// From a graph to a command stream: which layers run as one cascade, how each cascade is cut, where tensors lie. The
// same graph gives the same bytes on every host.
#ifndef VIREO_DELEGATES_NPU_COMPILER_COMPILER_H_
#define VIREO_DELEGATES_NPU_COMPILER_COMPILER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "delegates/npu/compiler/graph.h"
#include "delegates/npu/compiler/section.h"
#include "delegates/npu/machine/machine.h"

namespace vireo::npu {

struct CompileOptions {
  bool compress = true;      // weights
  bool cascade = true;       // results stay in local memory between layers
  size_t longest = 64;       // layers of a cascade
  bool own_regions = false;  // inputs and outputs stay where the host has them, as far as there are regions
};

struct Section {
  Cut cut;
  int64_t sram_bytes = 0;  // in use at once, at most
};

struct Compiled {
  std::string error;  // not empty: the layer that cannot be compiled, and why
  int error_layer = -1;

  std::vector<uint32_t> stream;    // StreamHeader and commands
  std::vector<uint8_t> constants;  // region 0
  int64_t tensor_bytes = 0;        // region 1
  std::vector<Region> region;      // of every tensor: 1, or one of its own
  std::vector<int64_t> address;    // of every tensor in its region; -1: it never leaves local memory, or is a constant
  std::vector<Section> sections;

  // Times on the machine as it was compiled for, with the layers' shares.
  Counters counters;
  std::vector<LayerCounters> layers;
  std::vector<LayerSizes> sizes;
};

Compiled compile(const Graph& graph, const MachineConfig& config, const CompileOptions& options = {});

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_COMPILER_COMPILER_H_
