// FNV-1a, 64 bits (draft-eastlake-fnv), of small things: no secret depends on it.
#ifndef VIREO_SDK_BASE_FNV_H_
#define VIREO_SDK_BASE_FNV_H_

#include <stddef.h>
#include <stdint.h>

namespace vireo {

constexpr uint64_t kEmptyHash = 0xCBF29CE484222325u;

// The hash of what `so_far` is the hash of, and of these bytes behind it.
inline uint64_t hash_bytes(uint64_t so_far, const void* data, size_t bytes) {
  const auto* const p = static_cast<const uint8_t*>(data);
  for (size_t i = 0; i < bytes; ++i) so_far = (so_far ^ p[i]) * 0x100000001B3u;
  return so_far;
}

// The same of a number's bytes, the lowest first on every machine.
inline uint64_t hash_number(uint64_t so_far, uint64_t value) {
  for (int i = 0; i < 8; ++i) {
    const auto byte = static_cast<uint8_t>(value >> (8 * i));
    so_far = hash_bytes(so_far, &byte, 1);
  }
  return so_far;
}

}  // namespace vireo

#endif  // VIREO_SDK_BASE_FNV_H_
