#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/broadcast.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

// f(a - a_zero, b - b_zero) is an element of y.
template <class F>
Status run_int_binary(const KernelContext& ctx, int32_t a_zero, int32_t b_zero, const F& f) {
  const ByteOperand a(*ctx.in(0), nullptr), b(*ctx.in(1), nullptr);
  const int32_t za = a.value(static_cast<uint8_t>(a_zero)), zb = b.value(static_cast<uint8_t>(b_zero));
  const Shape* shapes[] = {&ctx.in(0)->shape, &ctx.in(1)->shape};
  const Broadcast walk(ctx.out(0)->shape, shapes, 2);
  const int64_t row = walk.row(), sa = walk.step(0), sb = walk.step(1);
  uint8_t* y = ctx.out(0)->as<uint8_t>();
  ctx.parallel.for_range(walk.rows(), 1 + kElementGrain / (row + 1), [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t r = begin; r < end; ++r) {
      const uint8_t *pa = a.data + walk.offset(0, r), *pb = b.data + walk.offset(1, r);
      for (int64_t i = 0; i < row; ++i) y[r * row + i] = f(a.value(pa[i * sa]) - za, b.value(pb[i * sb]) - zb);
    }
  });
  return Status::kOk;
}

Status run_add(const KernelContext& ctx) {
  const auto& t = ctx.attrs<attrs::IntAdd>();
  const Codes codes(t);
  const float ma = t.a_multiplier(), mb = t.b_multiplier();
  return run_int_binary(ctx, t.a_zero(), t.b_zero(), [&](int32_t a, int32_t b) {
    const float pa = static_cast<float>(a) * ma, pb = static_cast<float>(b) * mb;
    return codes.of_real(pa + pb);
  });
}

Status run_mul(const KernelContext& ctx) {
  const auto& t = ctx.attrs<attrs::IntMul>();
  const Codes codes(t);
  const float m = t.multiplier();
  return run_int_binary(ctx, t.a_zero(), t.b_zero(), [&](int32_t a, int32_t b) { return codes.of_sum(a * b, m); });
}

}  // namespace

extern const RefKernel kIntAddRef;
const RefKernel kIntAddRef = {run_add, nullptr};
extern const RefKernel kIntMulRef;
const RefKernel kIntMulRef = {run_mul, nullptr};

}  // namespace vireo
