// Between float32 and codes of 8 or 16 bits, with the same bits as sdk/ops/quantize on every core.
#ifndef VIREO_DELEGATES_CPU_KERNELS_QUANTIZE_QUANTIZE_H_
#define VIREO_DELEGATES_CPU_KERNELS_QUANTIZE_QUANTIZE_H_

#include <stddef.h>
#include <stdint.h>

#include "sdk/base/parallel.h"

namespace vireo::cpu {

enum class Code : uint8_t { kU8, kI8, kU16, kI16, kI32 };

// [outer, extent, inner] elements, dense; parameters are one for each index of `extent`.
struct Codes {
  int64_t outer = 1, extent = 1, inner = 1;
  Code code = Code::kU8;
  const float* scale = nullptr;
  const void* zero_point = nullptr;  // of the code's type; null: 0. None for kI32
};

// y = clamp(rne(x / scale) + zero_point); NaN becomes the least code. Not kI32.
void quantize_f32(const Codes& shape, const float* x, void* y, const Parallel& parallel);
// y = (x - zero_point) * scale
void dequantize_f32(const Codes& shape, const void* x, float* y, const Parallel& parallel);

// Rows of codes of 4 bits, the low half of a byte first, or 8, with parameters for each `block` along a row.
struct BlockCodes {
  int64_t rows = 1, columns = 0, block = 1;
  int32_t bits = 4;
  bool is_signed = true;
  const float* scale = nullptr;      // [rows, blocks]
  const void* zero_point = nullptr;  // as scale, packed as the codes are; null: 0
};
// y = (x - zero_point) * scale
void dequantize_blocks_f32(const BlockCodes& shape, const void* x, float* y, const Parallel& parallel);

// The least and the greatest of 0 and x[count], NaN left out. `scratch`: 64-byte aligned.
size_t range_f32_scratch_bytes(int32_t slots);
void range_f32(const float* x, int64_t count, float* low, float* high, const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_QUANTIZE_QUANTIZE_H_
