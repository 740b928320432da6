// FNV-1a, 64 bits, of small things.
#ifndef VIREO_DELEGATES_XNNPACK_HASH_H_
#define VIREO_DELEGATES_XNNPACK_HASH_H_

#include <stddef.h>
#include <stdint.h>

namespace vireo::xnnpack {

constexpr uint64_t kEmptyHash = 0xCBF29CE484222325u;

inline uint64_t hash_bytes(uint64_t so_far, const void* data, size_t bytes) {
  const auto* const p = static_cast<const uint8_t*>(data);
  for (size_t i = 0; i < bytes; ++i) so_far = (so_far ^ p[i]) * 0x100000001B3u;
  return so_far;
}

}  // namespace vireo::xnnpack

#endif  // VIREO_DELEGATES_XNNPACK_HASH_H_
