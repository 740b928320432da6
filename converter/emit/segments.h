// Constants as the file keeps them: aligned segments behind the FlatBuffer, each content once.
//
// Large constants get a segment of their own, so that a segment's hash names one tensor and an update of a model ships
// what changed; small ones share a segment, because 64 bytes of alignment and a table entry each would outweigh them.
// One segment for everything was the other design: smaller by a few entries, and any change renames all of it.
#ifndef VIREO_CONVERTER_EMIT_SEGMENTS_H_
#define VIREO_CONVERTER_EMIT_SEGMENTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "converter/ir/constant.h"
#include "sdk/format/model_generated.h"

namespace vireo::emit {

struct Place {
  int32_t segment = -1;
  uint64_t offset = 0;
  uint64_t size = 0;
};

class Segments {
 public:
  static constexpr uint64_t kLargeBytes = 64 << 10;

  Place add(const ir::ConstantPtr& constant);
  // Shared and large segments as tables, hashes filled in; offsets are for the writer to set. Ends the adding.
  std::vector<std::unique_ptr<fb::SegmentT>> finish();
  // The bytes of a segment, in pieces, in order. Pages of mapped files are let go once written.
  bool write(size_t segment, const std::function<bool(const void*, size_t)>& sink) const;
  bool is_large(size_t segment) const { return segments_[segment].large != nullptr; }
  uint64_t total_bytes() const { return total_bytes_; }

 private:
  struct Segment {
    std::vector<uint8_t> shared;  // the shared segment
    ir::ConstantPtr large;        // or one constant
  };
  std::vector<Segment> segments_;
  int32_t shared_ = -1;
  std::map<std::string, Place> by_hash_;
  std::map<int32_t, std::string> hashes_;                       // of large segments
  std::map<std::pair<const void*, size_t>, Place> by_address_;  // spares hashing what is shared already
  std::vector<ir::ConstantPtr> kept_;                           // addresses stay taken
  uint64_t total_bytes_ = 0;
};

// Strings in the file: count + 1 little-endian u32 offsets, then the bytes. Empty when they are 4 GiB or more.
std::vector<uint8_t> encode_strings(const std::vector<std::string>& strings);

}  // namespace vireo::emit

#endif  // VIREO_CONVERTER_EMIT_SEGMENTS_H_
