// C = f(A B + bias + residual): A float32, B in 4 or 8 bits with a scale, and maybe a zero point, for each column or
// for each block of k within it:  B[k, n] = (code - zero) * scale. Arithmetic is float32: codes are widened in
// registers (few rows), or a block of panels at a time into scratch that the float32 engine reads (more). B is never
// widened whole.
//
// Against (code - zero) * scale rounded and multiplied, few rows sum a block before its scale: as many roundings. The
// order of the sums does not depend on the number of threads.
#ifndef VIREO_DELEGATES_CPU_KERNELS_GEMM_CODES_GEMM_CODES_H_
#define VIREO_DELEGATES_CPU_KERNELS_GEMM_CODES_GEMM_CODES_H_

#include "delegates/cpu/kernels/gemm/gemm.h"
#include "sdk/base/half.h"

namespace vireo::cpu {

// B as it lies. Element (k, n) of codes and zeros is at n * n_step + k * k_step (zeros and scales: of k / block), in
// units of `bits`, the low half of a byte first.
struct CodedWeights {
  const void* codes = nullptr;
  const float* scales = nullptr;
  const uint16_t* half_scales = nullptr;  // float16, in place of `scales`; packed ones are float32
  const void* zeros = nullptr;            // null: 0
  int32_t bits = 4;                       // or 8
  bool is_signed = true;
  int64_t block = 0;  // at least k: one block; else a multiple of 8
  int64_t n_step = 1, k_step = 0;
  int64_t scale_n_step = 1, scale_k_step = 0;

  float scale_at(int64_t i) const { return half_scales == nullptr ? scales[i] : f16_to_f32(half_scales[i]); }
};

// Layout 7 of packed weights: panels of 32 columns of words. A word has 8 (4) codes of one column, in the order of k
// from its low bits on, signed ones moved by 8 (128); a panel is [ceil(k / 8), 32], and neutral (0, moved) codes fill
// it up. Its scales are [blocks, 32] float32, its zeros [blocks, 32] bytes, moved as codes are. Any vector of 32-bit
// lanes reads a part of a row, and takes the codes out of it one after another.
size_t codes_packed_bytes(int64_t n, int64_t k, int32_t bits);
size_t scales_packed_bytes(int64_t n, int64_t blocks);
size_t zeros_packed_bytes(int64_t n, int64_t blocks);
void pack_codes(const CodedWeights& b, int64_t n, int64_t k, const Parallel& parallel, uint32_t* packed);
void pack_scales(const CodedWeights& b, int64_t n, int64_t blocks, float* packed);
void pack_zeros(const CodedWeights& b, int64_t n, int64_t blocks, uint8_t* packed);
inline int64_t blocks_of(const CodedWeights& b, int64_t k) { return b.block >= k ? 1 : (k + b.block - 1) / b.block; }

struct GemmCodes {
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldc = 0;
  CodedWeights b;                    // read as it lies where nothing is packed
  const uint32_t* packed = nullptr;  // all of B, with its scales and zeros
  const float* packed_scales = nullptr;
  const uint8_t* packed_zeros = nullptr;  // null where b.zeros is
  Epilogue epilogue;                      // one value a column; no rows' own
};

// Enough for all products up to these sizes.
size_t gemm_codes_scratch_bytes(int64_t m, int64_t n, int64_t k, int32_t slots, bool packed);
void gemm_codes(const GemmCodes& shape, const float* a, float* c, const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_GEMM_CODES_GEMM_CODES_H_
