// C = f(A B + bias + residual): B float16, A and C float32 or float16, sums float32. B is widened as it is read, which
// is exact; float16 rows of A are widened in blocks that stay in the cache, and each result is rounded once.
//
// The order of the sums depends on the shape and the instruction set, not on the number of threads.
#ifndef VIREO_DELEGATES_CPU_KERNELS_GEMM_F16_GEMM_F16_H_
#define VIREO_DELEGATES_CPU_KERNELS_GEMM_F16_GEMM_F16_H_

#include "delegates/cpu/kernels/gemm/columns16.h"
#include "delegates/cpu/kernels/gemm/gemm.h"

namespace vireo::cpu {

// Layout 8 of packed weights: panels of 32 columns, each [K, 32] float16 row-major, the last one padded with zeros:
// layout 1 in half the bytes. A vector of any width reads a part of a row.
int64_t f16_packed_elements(int64_t n, int64_t k);
void pack_f16(const Columns16& b, int64_t n, int64_t k, const Parallel& parallel, uint16_t* packed);

struct GemmF16 {
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldc = 0;
  Columns16 b;                       // packed into scratch in each call where `packed` is null
  const uint16_t* packed = nullptr;  // all of B
  Epilogue epilogue;                 // one value a column; no rows' own
};

// Of a product whose A and C are float16, in place of the epilogue's: residual's rows are epilogue.residual_stride
// apart.
struct HalfTail {
  const uint16_t* col_bias = nullptr;   // [N]
  const uint16_t* residual = nullptr;   // [M, N]
  const uint16_t* col_slope = nullptr;  // [N]
};

// Scratch depends on these numbers alone, and grows with each. `halves`: A and C are float16.
size_t gemm_f16_scratch_bytes(int64_t m, int64_t n, int64_t k, int32_t slots, bool packed, bool halves);
void gemm_f16(const GemmF16& shape, const float* a, float* c, const Parallel& parallel, void* scratch);
void gemm_f16(const GemmF16& shape, const HalfTail& tail, const uint16_t* a, uint16_t* c, const Parallel& parallel,
              void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_GEMM_F16_GEMM_F16_H_
