// Exact 8-bit integer products with int32 sums: MatMulInteger, ConvInteger, and the inside of their quantised
// relatives. Zero points are subtracted first (9-bit differences, held in 16 bits), so no product saturates and no sum
// wraps below k = 2^31 / 255^2 = 33,025; beyond that sums wrap modulo 2^32.
#ifndef VIREO_DELEGATES_CPU_KERNELS_INTGEMM_INTGEMM_H_
#define VIREO_DELEGATES_CPU_KERNELS_INTGEMM_INTGEMM_H_

#include <stddef.h>
#include <stdint.h>

#include "delegates/cpu/kernels/conv/conv.h"
#include "delegates/cpu/kernels/requantize/requantize.h"
#include "sdk/base/parallel.h"

namespace vireo::cpu {

// C[m, n] = sum_k (A[m, k] - a_zero[m]) (B[k, n] - b_zero[n]). A and B are uint8 or int8; a zero point has its
// operand's type, null means 0.
struct GemmI8 {
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  bool trans_b = false;  // B is [N, K]
  bool a_signed = false, b_signed = false;
  bool b_nibbles = false;  // B is int4 where it is packed; the product itself takes bytes
  const void* a_zero = nullptr;
  const void* b_zero = nullptr;
  bool a_zero_per_row = false, b_zero_per_column = false;  // one for all otherwise
  const Requantize* finish = nullptr;                      // C is 8 bits; null: int32, or
  const RealStep* real = nullptr;                          // float32
  const void* packed = nullptr;                            // B as pack_gemm_i8 wrote it, in place of B
  const void* added = nullptr;                             // what finish->then adds, as C; not C itself
};
// Of `shape` only the sizes are read, and `requantized`: whether there will be a `finish`. Enough for all smaller
// sizes.
size_t gemm_i8_scratch_bytes(const GemmI8& shape, bool requantized, int32_t slots);
void gemm_i8(const GemmI8& shape, const void* a, const void* b, void* c, const Parallel& parallel, void* scratch);

// B packed once for all products with an A of this signedness, on any machine (packed.h). n, k, ldb, trans_b and the
// signs are read.
size_t gemm_i8_packed_bytes(const GemmI8& shape);
void pack_gemm_i8(const GemmI8& shape, const void* b, const Parallel& parallel, void* to);

// Convolution of x - x_zero with w - w_zero; padding counts as x_zero. Of `shape` only the sizes are read.
struct ConvI8 {
  ConvF32 shape;
  bool x_signed = false, w_signed = false;
  bool w_nibbles = false;        // weights are int4 where they are packed; the convolution itself takes bytes
  const void* x_zero = nullptr;  // one
  const void* w_zero = nullptr;  // one, or [O]
  bool w_zero_per_channel = false;
  const Requantize* finish = nullptr;  // rows are output channels; `then` not where depthwise
  const void* added = nullptr;         // what finish->then adds, as y; not y itself
};
size_t conv_i8_scratch_bytes(const ConvI8& shape, bool requantized, int32_t slots);
void conv_i8(const ConvI8& shape, const void* x, const void* weights, void* y, const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_INTGEMM_INTGEMM_H_
