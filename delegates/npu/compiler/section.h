// A section: layers that follow each other and run as one cascade. Results that only they read stay in local memory, as
// rings of the rows that are still needed; what comes from outside is loaded row by row as it is asked for.
#ifndef VIREO_DELEGATES_NPU_COMPILER_SECTION_H_
#define VIREO_DELEGATES_NPU_COMPILER_SECTION_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "delegates/npu/compiler/graph.h"
#include "delegates/npu/compiler/semantics.h"
#include "delegates/npu/machine/config.h"

namespace vireo::npu {

// Constants of the stream: each distinct content once.
class Blob {
 public:
  uint32_t add(const std::vector<uint8_t>& bytes);
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  void pad() { bytes_.resize((bytes_.size() + 63) / 64 * 64); }

 private:
  std::vector<uint8_t> bytes_;
  std::map<std::vector<uint8_t>, uint32_t> known_;
};

// Weights of layer, channels [from, to), with their records, as bytes and packed: many cuts ask for the same.
struct Weights {
  std::vector<uint8_t> bytes, packed;
};
using WeightCache = std::map<std::tuple<int, int64_t, int64_t>, Weights>;

// How a section is cut. `steps` row stripes of its last results; one layer alone may be cut along columns and channels
// too.
struct Cut {
  size_t first = 0, last = 0;  // layers [first, last)
  int64_t steps = 1;
  int64_t column_tiles = 1, channel_tiles = 1;
  int64_t reduction_tiles = 1;  // of a convolution alone: its input's channels in so many parts, one after the other
  int64_t weight_bytes = 0;     // of a block of weights, at most; but never less than the smallest block
  bool keep_weights = true;     // for all stripes; else loaded again for each
  size_t ahead = 2;             // commands that compute, before which a load may have room already; 0: none
  bool double_buffer = true;    // rings have room for the next rows while the last are read
};

// Where tensors lie outside, and which layers' results somebody outside the section reads.
struct Surroundings {
  const Graph* graph = nullptr;
  const MachineConfig* config = nullptr;
  std::vector<int> root;                     // tensor that the bytes belong to: a reshape's input stands for its result
  std::vector<int64_t> address;              // of roots, in their region
  std::vector<Region> region;                // of roots that are no constants
  std::vector<int> producer;                 // layer that writes the tensor, -1: none
  std::vector<std::vector<size_t>> readers;  // layers, of roots
  std::vector<bool> wanted;                  // tensor is one of the graph's outputs, by root
  bool compress = true;
  WeightCache* cache = nullptr;
};

// Of one layer: local memory in use while it runs, at most; its weights before and after compression, loads counted
// once.
struct LayerSizes {
  int64_t sram_peak = 0, weight_bytes = 0, packed_bytes = 0;
};

struct Built {
  std::string why;  // not empty: it cannot be cut like this
  std::vector<Command> commands;
  int64_t sram_bytes = 0;          // local memory in use at once, at most
  std::vector<LayerSizes> layers;  // of the section
};

// `flip`: from the upper end of local memory down, so that neighbouring sections meet late. Without `blob`
// constants have no addresses, which is enough to measure.
Built build_section(const Surroundings& world, const Cut& cut, bool flip, Blob* blob);

// Whether layers [first, last) can be one section at all.
bool can_join(const Surroundings& world, size_t first, size_t last);

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_COMPILER_SECTION_H_
