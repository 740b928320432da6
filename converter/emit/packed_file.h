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

// `file` is whole and verified. The result has everything but its section of packed weights, and `weights` as the new
// one (none when that is empty); `note` is added to the provenance's options unless it is "". Empty, with the reason in
// `error`, when the result would not be a file or a constant lies in no segment.
std::vector<uint8_t> with_packed_weights(Span<const uint8_t> file, std::vector<PackedWeights> weights,
                                         const std::string& note, std::string* error);

}  // namespace vireo::emit

#endif  // VIREO_CONVERTER_EMIT_PACKED_FILE_H_
