#include "delegates/npu/machine/unpack.h"

#include <string.h>

namespace vireo::npu {
namespace {

// Bits beyond the end read as 0 and are counted.
struct Bits {
  const uint8_t* from;
  size_t bytes;
  size_t at = 0;  // in bits

  uint32_t take(uint32_t count) {
    uint32_t v = 0;
    for (uint32_t i = 0; i < count; ++i, ++at) {
      if (at / 8 < bytes) v |= ((from[at / 8] >> (at % 8)) & 1u) << i;
    }
    return v;
  }
};

}  // namespace

bool unpack(const uint8_t* from, size_t from_bytes, uint8_t* to, size_t to_bytes) {
  Bits bits{from, from_bytes};
  for (size_t done = 0; done < to_bytes; done += kPackBlock) {
    const size_t n = to_bytes - done < kPackBlock ? to_bytes - done : kPackBlock;
    const uint32_t k = bits.take(4);
    if (k > kPackZeros) return false;
    if (k == kPackZeros) {
      memset(to + done, 0, n);
      continue;
    }
    for (size_t i = 0; i < n; ++i) {
      uint32_t v = 0;
      if (k == kPackPlain) {
        to[done + i] = static_cast<uint8_t>(bits.take(8));
        continue;
      }
      uint32_t ones = 0;
      while (ones < kPackEscape && bits.take(1) != 0) ++ones;
      v = ones == kPackEscape ? bits.take(8) : (ones << k) | bits.take(k);
      to[done + i] = static_cast<uint8_t>((v >> 1) ^ (0u - (v & 1)));
    }
    if (bits.at > from_bytes * 8) return false;
  }
  return bits.at <= from_bytes * 8 && from_bytes * 8 - bits.at < 8;
}

}  // namespace vireo::npu
