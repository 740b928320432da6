// Text that kernels read and make. A string element refers to bytes that live elsewhere (sdk/base/string.h): in the
// caller's input, in the model, or in the memory of the node that made them (KernelContext::text), which the node keeps
// for the whole session and writes anew in its next run. So operators that choose, move or cut strings copy references.
#ifndef VIREO_SDK_OPS_SHARED_TEXT_H_
#define VIREO_SDK_OPS_SHARED_TEXT_H_

#include "sdk/base/checked.h"
#include "sdk/ops/kernel.h"

namespace vireo {

// KernelQuery's room for an output of strings, `each` bytes for every one; -1 when that is more than memory.
inline int64_t text_room(const TensorType& y, int64_t each) {
  int64_t bytes = 0;
  return checked_mul(element_count(y.shape), each, &bytes) ? bytes : -1;
}

// Where the strings that a kernel makes go, one behind the other.
class TextWriter {
 public:
  explicit TextWriter(const KernelContext& ctx) : room_(ctx.text) {}

  // To be asked, with what all strings take, before anything is written.
  static Status check(const KernelContext& ctx, uint64_t bytes) {
    if (bytes <= ctx.text.size()) return Status::kOk;
    return ctx.fail(Status::kInvalidArgument,
                    "its strings take {} bytes, {} are reserved for them: convert with more --string-bytes",
                    static_cast<int64_t>(bytes), static_cast<int64_t>(ctx.text.size()));
  }
  char* take(size_t size) {
    char* at = reinterpret_cast<char*>(room_.data()) + used_;
    used_ += size;
    return at;
  }

 private:
  Span<uint8_t> room_;
  size_t used_ = 0;
};

// A code point of UTF-8, or a byte that is part of none.
struct CodePoint {
  static constexpr uint32_t kBadByte = 0x110000;  // and above: that many more than the byte
  uint32_t value = 0;
  uint32_t size = 1;
  bool good() const { return value < kBadByte; }
};

// The code point at `p`, of `left` >= 1 bytes. Overlong forms, surrogates and what is above U+10FFFF are bad bytes.
inline CodePoint read_code_point(const char* p, size_t left) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(p[i])); };
  const uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const CodePoint bad = {CodePoint::kBadByte + first, 1};
  const uint32_t size = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (size == 0 || left < size) return bad;
  uint32_t value = first & (0x7Fu >> size);
  for (uint32_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return bad;
    value = value << 6 | (byte(i) & 0x3F);
  }
  const bool overlong = value < (size == 3 ? 0x800u : size == 4 ? 0x10000u : 0u);
  if (overlong || (value >= 0xD800 && value < 0xE000) || value > 0x10FFFF) return bad;
  return {value, size};
}

inline uint32_t code_point_size(uint32_t value) {
  if (value >= CodePoint::kBadByte) return 1;
  return value < 0x80 ? 1 : value < 0x800 ? 2 : value < 0x10000 ? 3 : 4;
}

// Writes code_point_size(value) bytes.
inline void write_code_point(uint32_t value, char* to) {
  const uint32_t size = code_point_size(value);
  if (size == 1) {
    *to = static_cast<char>(value >= CodePoint::kBadByte ? value - CodePoint::kBadByte : value);
    return;
  }
  for (uint32_t i = size; i-- > 1; value >>= 6) to[i] = static_cast<char>(0x80 | (value & 0x3F));
  to[0] = static_cast<char>((0xF00u >> size & 0xFF) | value);
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SHARED_TEXT_H_
