// The shape of a product of bytes, as the operator's folder gives it, in the form that the kernels take.
#ifndef VIREO_DELEGATES_CPU_GEMM_I8_SHAPE_H_
#define VIREO_DELEGATES_CPU_GEMM_I8_SHAPE_H_

#include "delegates/cpu/kernels/intgemm/intgemm.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/matmul/matmul.h"

namespace vireo::cpu {

// Dense matrices; zero points are the caller's to add.
inline GemmI8 gemm_i8_shape(const MatmulShape& s, const Tensor& a, const Tensor& b) {
  GemmI8 g;
  g.m = s.m;
  g.n = s.n;
  g.k = s.k;
  g.lda = s.k;
  g.ldb = g.ldc = s.n;
  g.a_signed = a.dtype == DType::kI8;
  g.b_signed = b.dtype == DType::kI8;
  return g;
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_GEMM_I8_SHAPE_H_
