#include "sdk/ops/kernel.h"
#include "sdk/ops/matmul/matmul.h"
#include "sdk/ops/shared/accumulate.h"
#include "sdk/ops/shared/dispatch.h"

namespace vireo {
namespace {

template <class T>
void matmul(const KernelContext& ctx) {
  using A = accumulate_t<T>;
  const T* a = ctx.in(0)->as<const T>();
  const T* b = ctx.in(1)->as<const T>();
  T* y = ctx.out(0)->as<T>();
  const MatmulShape s = matmul_shape(ctx.in(0)->shape, ctx.in(1)->shape, ctx.out(0)->shape);
  ctx.parallel.for_range(s.batch * s.m, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t a_at = 0, b_at = 0;
      s.offsets(row / s.m, &a_at, &b_at);
      const T* a_row = a + a_at + row % s.m * s.k;
      for (int64_t n = 0; n < s.n; ++n) {
        A sum = 0;
        for (int64_t k = 0; k < s.k; ++k) sum += to_sum<A>(a_row[k]) * to_sum<A>(b[b_at + k * s.n + n]);
        y[row * s.n + n] = from_sum<T>(sum);
      }
    }
  });
}

Status run_matmul(const KernelContext& ctx) {
  const auto typed = [&](auto tag) {
    matmul<decltype(tag)>(ctx);
    return Status::kOk;
  };
  switch (ctx.in(0)->dtype) {  // two's complement: signed and unsigned products agree
    case DType::kI32:
    case DType::kU32:
      return typed(uint32_t{});
    case DType::kI64:
    case DType::kU64:
      return typed(uint64_t{});
    default:
      return dispatch_float(ctx.in(0)->dtype, typed);
  }
}

}  // namespace

extern const RefKernel kMatMulRef;
const RefKernel kMatMulRef = {run_matmul, nullptr};

}  // namespace vireo
