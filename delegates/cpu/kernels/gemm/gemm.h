// C = f(alpha * op(A) op(B) + bias + residual), float32, any strides, over a batch.
//   a    op(A) is [M, K]: rows `lda` apart, or [K, M] with trans_a
//   b    op(B) is [K, N]: rows `ldb` apart, or [N, K] with trans_b
//   c    [M, N], rows `ldc` apart; overlaps no input
// Sums are float32 with fused multiply-add where the core has it; the order over k does not depend on the number of
// threads. Weights may be packed before the call, once for all calls; else B is read in place, or panels of it go to
// `scratch` on the way.
#ifndef VIREO_DELEGATES_CPU_KERNELS_GEMM_GEMM_H_
#define VIREO_DELEGATES_CPU_KERNELS_GEMM_GEMM_H_

#include <stddef.h>
#include <stdint.h>

#include "delegates/cpu/kernels/activation/activation.h"
#include "delegates/cpu/kernels/scratch.h"
#include "sdk/base/parallel.h"

namespace vireo::cpu {

// What happens to a sum before it is stored:  y = act(alpha * sum + row_bias[m] + col_bias[n] + scale * residual[m,
// n]), with the residual added after `act` instead when `residual_last`, or multiplied then when `residual_times`. Null
// pointers add nothing. PRelu is an `act` of its own: x < 0 ? slope x : x, a slope for each row or each column.
struct Epilogue {
  float alpha = 1;
  const float* row_bias = nullptr;  // [M]
  const float* col_bias = nullptr;  // [N]
  const float* residual = nullptr;  // [M, N]
  int64_t residual_stride = 0;      // elements between rows; 0: one row for all
  float residual_scale = 1;
  bool residual_last = false, residual_times = false;
  Activate act;
  const float* row_slope = nullptr;  // [M]
  const float* col_slope = nullptr;  // [N]

  void put_residual(const float* row, RowFinish* finish) const {
    (residual_times ? finish->late_factor : residual_last ? finish->late_residual : finish->residual) = row;
  }
};

// A dimension of a batch that the sides do not share in the same way.
struct BatchDim {
  int64_t extent, a_step, b_step;  // steps in elements; 0: that side is the same all along
};

struct GemmF32 {
  int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  int64_t lda = 0, ldb = 0, ldc = 0;
  int64_t batch = 1;
  int64_t a_step = 0, b_step = 0, c_step = 0, residual_step = 0;  // elements between batch items; 0: shared
  // Of A and B in place of a_step and b_step, innermost first; their extents make up the batch. Null where one step
  // does.
  const BatchDim* batch_dims = nullptr;
  const float* packed = nullptr;  // B as pack_gemm_f32 wrote it, in place of `b`: batch 1
  Epilogue epilogue;
};

// Floats that B takes packed; 0 where packing would bring nothing: one row streams B through as it lies, few
// columns would be mostly padding. Decided by sizes, so that a shape that is smaller than its bound may be packed.
int64_t gemm_f32_packed_floats(const GemmF32& shape);
void pack_gemm_f32(const GemmF32& shape, const float* b, const Parallel& parallel, float* packed);

// Bytes of scratch for `gemm_f32` where B is not packed; depends on sizes, transposes and slots alone, not on the
// instruction set. Packed, none.
size_t gemm_f32_scratch_bytes(const GemmF32& shape, int32_t slots, Sizes sizes = Sizes::kUpperBounds);

// `scratch` is 64-byte aligned; it may be null where gemm_f32_scratch_bytes gives 0.
void gemm_f32(const GemmF32& shape, const float* a, const float* b, float* c, const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_GEMM_GEMM_H_
