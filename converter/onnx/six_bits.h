// float6e2m3 and float6e3m2 as ONNX files keep them. In raw_data, and in files beside the model, four elements lie in
// three bytes: one stream of bits, the first element in the lowest six, the last group filled up with zeros. In
// int32_data, as everywhere in Vireo, each element has a place of its own, whose upper bits are 0.
// Source: onnx.proto of IR version 14, TensorProto.raw_data and TensorProto.int32_data.
#ifndef VIREO_CONVERTER_ONNX_SIX_BITS_H_
#define VIREO_CONVERTER_ONNX_SIX_BITS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sdk/base/dtype.h"
#include "sdk/base/span.h"

namespace vireo {

inline bool is_six_bits(DType t) { return t == DType::kF6E2M3 || t == DType::kF6E3M2; }

// Bytes of raw_data for `count` elements; `count` >= 0 and at most INT64_MAX / 6.
inline int64_t packed_six_bits(int64_t count) { return count / 4 * 3 + (count % 4 * 6 + 7) / 8; }

inline std::vector<uint8_t> pack_six_bits(Span<const uint8_t> codes) {
  std::vector<uint8_t> packed(static_cast<size_t>(packed_six_bits(static_cast<int64_t>(codes.size()))));
  for (size_t i = 0; i < codes.size(); ++i) {
    const size_t bit = 6 * i;
    const unsigned code = (codes[i] & 63u) << bit % 8;  // an element reaches into the next byte from bit 3 on
    packed[bit / 8] = static_cast<uint8_t>(packed[bit / 8] | code);
    if (code > 255) packed[bit / 8 + 1] = static_cast<uint8_t>(code >> 8);
  }
  return packed;
}

// `packed` holds packed_six_bits(count) bytes.
inline std::vector<uint8_t> unpack_six_bits(Span<const uint8_t> packed, int64_t count) {
  std::vector<uint8_t> codes(static_cast<size_t>(count));
  for (size_t i = 0; i < codes.size(); ++i) {
    const size_t bit = 6 * i;
    unsigned both = packed[bit / 8];
    if (bit % 8 > 2) both |= static_cast<unsigned>(packed[bit / 8 + 1]) << 8;
    codes[i] = static_cast<uint8_t>(both >> bit % 8 & 63u);
  }
  return codes;
}

// A constant's bytes as raw_data has them: themselves, or what `packed` holds then.
inline Span<const uint8_t> raw_bytes(DType t, Span<const uint8_t> bytes, std::vector<uint8_t>* packed) {
  if (!is_six_bits(t)) return bytes;
  *packed = pack_six_bits(bytes);
  return {packed->data(), packed->size()};
}

}  // namespace vireo

#endif  // VIREO_CONVERTER_ONNX_SIX_BITS_H_
