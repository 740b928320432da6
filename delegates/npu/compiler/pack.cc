#include "delegates/npu/compiler/pack.h"

#include <algorithm>

#include "delegates/npu/machine/unpack.h"

namespace vireo::npu {
namespace {

uint32_t zigzag(uint8_t byte) {
  const int32_t v = static_cast<int8_t>(byte);
  return static_cast<uint32_t>(v < 0 ? -2 * v - 1 : 2 * v);
}

uint64_t rice_bits(uint32_t n, uint32_t k) { return (n >> k) >= kPackEscape ? kPackEscape + 8 : (n >> k) + 1 + k; }

struct Bits {
  std::vector<uint8_t> bytes;
  uint32_t filled = 8;  // of the last byte

  void put(uint32_t v, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      if (filled == 8) {
        bytes.push_back(0);
        filled = 0;
      }
      bytes.back() = static_cast<uint8_t>(bytes.back() | (((v >> i) & 1) << filled++));
    }
  }
};

}  // namespace

std::vector<uint8_t> pack(const std::vector<uint8_t>& in) {
  Bits bits;
  for (size_t at = 0; at < in.size(); at += kPackBlock) {
    const size_t n = std::min(kPackBlock, in.size() - at);
    uint64_t least = 8 * n;
    uint32_t code = kPackPlain;
    bool zeros = true;
    for (size_t i = 0; i < n; ++i) zeros = zeros && in[at + i] == 0;
    for (uint32_t k = 0; k < kPackPlain && !zeros; ++k) {
      uint64_t size = 0;
      for (size_t i = 0; i < n; ++i) size += rice_bits(zigzag(in[at + i]), k);
      if (size >= least) continue;
      least = size;
      code = k;
    }
    if (zeros) code = kPackZeros;
    bits.put(code, 4);
    for (size_t i = 0; i < n && !zeros; ++i) {
      if (code == kPackPlain) {
        bits.put(in[at + i], 8);
        continue;
      }
      const uint32_t v = zigzag(in[at + i]);
      if ((v >> code) >= kPackEscape) {
        bits.put((1u << kPackEscape) - 1, kPackEscape);
        bits.put(v, 8);
      } else {
        bits.put((1u << (v >> code)) - 1, (v >> code) + 1);
        bits.put(v & ((1u << code) - 1), code);
      }
    }
  }
  return bits.bytes;
}

}  // namespace vireo::npu
