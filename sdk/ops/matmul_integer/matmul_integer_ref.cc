#include "sdk/base/requantize.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/matmul/matmul.h"
#include "sdk/ops/shared/integer_product.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

// A parameter of rows or columns: which of its values belongs to one.
struct Parameter {
  const Tensor* t;
  int64_t at(int64_t row_of_all, int64_t row) const {
    return t->count() == 1 ? 0 : t->shape.rank == 1 ? row : row_of_all;
  }
  float real(int64_t row_of_all, int64_t row) const {
    return static_cast<float>(read_real(t->dtype, t->data, at(row_of_all, row)));
  }
};

// Calls f(acc, row and column in all of a and b, row, column, element of y) for each element of y.
template <class F>
void for_each_sum(const KernelContext& ctx, const Tensor& a_in, const Tensor* a_zero, const Tensor& b_in,
                  const Tensor* b_zero, const F& f) {
  const MatmulShape s = matmul_shape(a_in.shape, b_in.shape, ctx.out(0)->shape);
  const ByteOperand a(a_in, a_zero), b(b_in, b_zero);
  const Parameter az{a_zero}, bz{b_zero};
  ctx.parallel.for_range(s.batch * s.m, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t a_at = 0, b_at = 0;
      s.offsets(row / s.m, &a_at, &b_at);
      const int64_t m = row % s.m, a_row = (s.k == 0 ? 0 : a_at / s.k) + m;
      const int32_t za = a.zero(a_zero == nullptr ? 0 : az.at(a_row, m));
      for (int64_t n = 0; n < s.n; ++n) {
        const int64_t b_column = (s.k == 0 ? 0 : b_at / s.k) + n;
        const int32_t zb = b.zero(b_zero == nullptr ? 0 : bz.at(b_column, n));
        uint32_t sum = 0;  // wraps around, as int32 does
        for (int64_t k = 0; k < s.k; ++k) {
          const int32_t av = a.value(a.data[a_at + m * s.k + k]) - za, bv = b.value(b.data[b_at + k * s.n + n]) - zb;
          sum += static_cast<uint32_t>(av * bv);
        }
        f(static_cast<int32_t>(sum), a_row, b_column, row, m, n, row * s.n + n);
      }
    }
  });
}

Status run_integer(const KernelContext& ctx) {
  int32_t* y = ctx.out(0)->as<int32_t>();
  for_each_sum(ctx, *ctx.in(0), ctx.in(2), *ctx.in(1), ctx.in(3),
               [&](int32_t acc, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t at) { y[at] = acc; });
  return Status::kOk;
}

Status run_qlinear(const KernelContext& ctx) {
  const Parameter a_scale{&ctx.required(1)}, b_scale{&ctx.required(4)}, y_scale{&ctx.required(6)},
      y_zero{&ctx.required(7)};
  const Tensor& y = *ctx.out(0);
  const bool is_signed = y.dtype == DType::kI8;
  const int32_t low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
  for_each_sum(ctx, *ctx.in(0), ctx.in(2), *ctx.in(3), ctx.in(5),
               [&](int32_t acc, int64_t a_row, int64_t b_column, int64_t y_row, int64_t m, int64_t n, int64_t at) {
                 const float factor = a_scale.real(a_row, m) * b_scale.real(b_column, n) / y_scale.real(y_row, m);
                 const int64_t z = read_integer(y.dtype, y_zero.t->data, y_zero.at(y_row, m));
                 y.as<uint8_t>()[at] =
                     static_cast<uint8_t>(requantize(acc, factor, static_cast<int32_t>(z), low, high));
               });
  return Status::kOk;
}

}  // namespace

extern const RefKernel kMatMulIntegerRef;
const RefKernel kMatMulIntegerRef = {run_integer, nullptr};
extern const RefKernel kQLinearMatMulRef;
const RefKernel kQLinearMatMulRef = {run_qlinear, nullptr};

}  // namespace vireo
