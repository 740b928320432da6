// A .vireo file with a section of packed weights and compiled parts (sdk/format/pack_set.h), or without one again.
#ifndef VIREO_CONVERTER_EMIT_PACKED_FILE_H_
#define VIREO_CONVERTER_EMIT_PACKED_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/span.h"
#include "sdk/format/pack_set.h"

namespace vireo::emit {

struct PackedWeights {
  PackEntry name;  // constant, where that is one: offset in the given file
  const void* data = nullptr;
};

// Where a target's nodes run; as fb::Plan.
struct TargetPlan {
  struct Device {
    std::string name, delegate, vendor, family, driver;
  };
  struct Bound {
    std::string name;
    int64_t lo = 0, hi = 0;
  };
  std::string target;
  std::vector<Device> devices;
  std::vector<std::vector<uint8_t>> placement;  // a list a subgraph, an index in `devices` a node, 255: not said
  std::vector<Bound> bounds;
};

// `file` is whole and verified. The result has everything but its section of packed weights, and `weights` as the new
// one (none when that is empty); `note` is added to the provenance's options unless it is "". Empty, with the reason in
// `error`, when the result would not be a file or a constant lies in no segment. `plans`: the plans for targets in the
// place of those that it has; null: it keeps them. `alignment`: of segments, at least; 0: as they are.
std::vector<uint8_t> with_packed_weights(Span<const uint8_t> file, std::vector<PackedWeights> weights,
                                         const std::string& note, std::string* error,
                                         const std::vector<TargetPlan>* plans = nullptr, uint32_t alignment = 0);

}  // namespace vireo::emit

#endif  // VIREO_CONVERTER_EMIT_PACKED_FILE_H_
