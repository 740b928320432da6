// C = f(A B + bias + residual): A bfloat16, or float32 and rounded to it (nearest even) on the way, B bfloat16, sums
// float32, C float32 or rounded once at the end; and the convolution channels last that is such a product.
//
// Products of two bfloat16 are exact in float32, so instruction sets differ in the order of the sums alone; cores that
// multiply bfloat16 themselves take numbers below 2^-126 for 0, in operands and in results. The order does not depend
// on the number of threads.
#ifndef VIREO_DELEGATES_CPU_KERNELS_GEMM_BF16_GEMM_BF16_H_
#define VIREO_DELEGATES_CPU_KERNELS_GEMM_BF16_GEMM_BF16_H_

#include "delegates/cpu/kernels/conv/conv.h"
#include "delegates/cpu/kernels/gemm/columns16.h"
#include "delegates/cpu/kernels/gemm/gemm.h"

namespace vireo::cpu {

// Layout 5 of packed weights: panels of 32 columns, each [k / 2, 32, 2] with k filled up by zeros to a multiple of 32.
// A row is what two vectors of AVX512-BF16 multiply, 16 rows of half a panel are one tile of AMX; other cores widen a
// row's even and odd halves.
int64_t bf16_packed_elements(int64_t n, int64_t k);
void pack_bf16(const Columns16& b, int64_t n, int64_t k, const Parallel& parallel, uint16_t* packed);

// What is read and written, each float32 or bfloat16 in memory. C overlaps nothing that is read.
struct Bf16Operands {
  const void* a = nullptr;
  void* c = nullptr;
  const uint16_t* residual = nullptr;  // not null: in place of the float32 one, by its other settings
  bool a_half = false, c_half = false;
};

struct GemmBf16 {
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldc = 0;
  Columns16 b;                       // read where nothing is packed
  const uint16_t* packed = nullptr;  // all of B
  Epilogue epilogue;
};

// Scratch depends on sizes, slots, whether B is packed and whether C is bfloat16 alone, and grows with each.
size_t gemm_bf16_scratch_bytes(int64_t m, int64_t n, int64_t k, int32_t slots, bool packed, bool c_half = false);
void gemm_bf16(const GemmBf16& shape, const Bf16Operands& operands, const Parallel& parallel, void* scratch);

// Convolution channels last in one group, a is x [N, D, H, W, C], c and residual [N, OD, OH, OW, O]. `packed` is null
// or all filters, (kernel..., C) as k; shape.packed is not read.
size_t conv_bf16_scratch_bytes(const ConvF32& shape, int32_t slots, bool packed, bool c_half = false);
void conv_bf16(const ConvF32& shape, const Bf16Operands& operands, const void* weights, const uint16_t* packed,
               const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_GEMM_BF16_GEMM_BF16_H_
