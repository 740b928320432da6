// The shape of a product of bytes, as the operator's folder gives it, in the form that the kernels take, and its
// packed constant.
#ifndef VIREO_DELEGATES_CPU_GEMM_I8_SHAPE_H_
#define VIREO_DELEGATES_CPU_GEMM_I8_SHAPE_H_

#include <new>

#include "delegates/cpu/kernels/intgemm/intgemm.h"
#include "delegates/cpu/packed.h"
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
  g.b_signed = b.dtype != DType::kU8;
  return g;
}

// What tells apart how the same bytes are packed: A's sign, and twice that of the columns.
inline int64_t signs_of(const GemmI8& g) { return (g.a_signed ? 1 : 0) + (g.b_signed ? 2 : 0); }
inline int64_t signs_of(const ConvI8& c) { return (c.x_signed ? 1 : 0) + (c.w_signed ? 2 : 0); }

// As CpuKernel::pack, for a product of input `a` with input `b` that is one constant matrix for all batches.
inline bool pack_constant_i8(const CpuQuery& q, uint32_t a, uint32_t b, const Parallel& parallel, vireo_packed* out,
                             void* to) {
  const Shape& s = q.inputs[b].type.shape;
  if (q.inputs[b].constant == nullptr || s.rank < 2 || product(s, 0, s.rank - 2) != 1) return false;
  GemmI8 g;
  g.k = s[s.rank - 2];
  g.n = g.ldb = s[s.rank - 1];
  g.a_signed = q.inputs[a].type.dtype == DType::kI8;
  g.b_signed = q.inputs[b].type.dtype != DType::kU8;
  g.b_nibbles = q.inputs[b].type.dtype == DType::kI4;
  const size_t bytes = g.n > 0 ? gemm_i8_packed_bytes(g) : 0;
  if (!offer_packed(q.inputs[b].constant, kPackedI8, {g.n, g.k, 0, signs_of(g)}, bytes, out)) return false;
  if (to != nullptr) pack_gemm_i8(g, out->constant, parallel, to);
  return true;
}

// The state of an operator with one packed constant.
struct PackedI8 {
  const void* data = nullptr;  // null: as it lies
};
inline void prepare_packed_i8(const CpuQuery& q, PackConstant pack, void* state) {
  new (state) PackedI8{packed_at(q, pack)};
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_GEMM_I8_SHAPE_H_
