// Matrix product as numpy.matmul:  y[..., m, n] = sum_k a[..., m, k] * b[..., k, n]
//   a   [..., M, K] or [K]; b [..., K, N] or [K]; leading dimensions broadcast. f32, f64, f16, bf16, i32, u32, i64, u64
//   y   [..., M, N]; M is left out when a is 1-D, N when b is
//   Integers wrap around. alias none; scratch none
// Source: ONNX opset 13 "MatMul".
#ifndef VIREO_SDK_OPS_MATMUL_MATMUL_H_
#define VIREO_SDK_OPS_MATMUL_MATMUL_H_

#include "sdk/ops/shared/infer.h"

namespace vireo {

// Shape of the product of inputs `a` and `b`, for all operators of this form.
inline Status infer_matmul_shape(InferContext& ctx, int a, int b, Shape* y) {
  const Shape& as = ctx.input(a).shape;
  const Shape& bs = ctx.input(b).shape;
  if (as.rank < 1 || bs.rank < 1) {
    return ctx.fail(Status::kInvalidModel, "a matrix product of shapes {} and {}: scalars are not allowed", as, bs);
  }
  const Dim ka = as[as.rank - 1], kb = bs[bs.rank >= 2 ? bs.rank - 2 : 0];
  if (ctx.differ(ka, kb)) {
    return ctx.fail(Status::kInvalidModel, "a matrix product of shapes {} and {}: inner dimensions are {} and {}", as,
                    bs, ka, kb);
  }
  Shape ab, bb;
  ab.rank = as.rank >= 2 ? as.rank - 2 : 0;
  for (int i = 0; i < ab.rank; ++i) ab[i] = as[i];
  bb.rank = bs.rank >= 2 ? bs.rank - 2 : 0;
  for (int i = 0; i < bb.rank; ++i) bb[i] = bs[i];
  VIREO_TRY(broadcast(ctx, ab, bb, y));
  if (as.rank >= 2) y->dims[y->rank++] = as[as.rank - 2];
  if (bs.rank >= 2) y->dims[y->rank++] = bs[bs.rank - 1];
  return Status::kOk;
}

// The product in numbers.
struct MatmulShape {
  int64_t m, n, k;
  int64_t batch;  // products
  int rank;       // of the broadcast leading dimensions
  int64_t dims[kMaxRank];
  int64_t a_step[kMaxRank], b_step[kMaxRank];  // in elements; 0 where broadcast

  // Where the matrices of product `index` begin.
  void offsets(int64_t index, int64_t* a, int64_t* b) const {
    *a = 0;
    *b = 0;
    for (int i = rank - 1; i >= 0; --i) {
      const int64_t at = index % dims[i];
      index /= dims[i];
      *a += at * a_step[i];
      *b += at * b_step[i];
    }
  }
};

inline MatmulShape matmul_shape(const Shape& a, const Shape& b, const Shape& y) {
  MatmulShape s{};
  s.k = a[a.rank - 1];
  s.m = a.rank >= 2 ? a[a.rank - 2] : 1;
  s.n = b.rank >= 2 ? b[b.rank - 1] : 1;
  s.rank = y.rank - (a.rank >= 2 ? 1 : 0) - (b.rank >= 2 ? 1 : 0);
  s.batch = product(y, 0, s.rank);
  int64_t a_size = s.m * s.k, b_size = s.k * s.n;
  for (int i = s.rank - 1; i >= 0; --i) {
    s.dims[i] = y[i];
    const int ia = a.rank - 2 - (s.rank - i), ib = b.rank - 2 - (s.rank - i);
    const int64_t da = ia >= 0 ? a[ia] : 1, db = ib >= 0 ? b[ib] : 1;
    s.a_step[i] = da == 1 ? 0 : a_size;
    s.b_step[i] = db == 1 ? 0 : b_size;
    a_size *= da;
    b_size *= db;
  }
  return s;
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_MATMUL_MATMUL_H_
