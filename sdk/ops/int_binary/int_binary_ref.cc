#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/broadcast.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

// Calls f(a(i), b(i), element of y) for each element of y.
template <class A, class B, class F>
void walk_pairs(const KernelContext& ctx, const A& a, const B& b, const F& f) {
  const Shape* shapes[] = {&ctx.in(0)->shape, &ctx.in(1)->shape};
  const Broadcast walk(ctx.out(0)->shape, shapes, 2);
  const int64_t row = walk.row(), sa = walk.step(0), sb = walk.step(1);
  ctx.parallel.for_range(walk.rows(), 1 + kElementGrain / (row + 1), [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t pa = walk.offset(0, r), pb = walk.offset(1, r);
      for (int64_t i = 0; i < row; ++i) f(a(pa + i * sa), b(pb + i * sb), r * row + i);
    }
  });
}

// f takes codes less their zero points: int32, and int64 where one has 16 bits, whose products pass 2^31.
template <class F>
Status run_int_binary(const KernelContext& ctx, int32_t a_zero, int32_t b_zero, const F& f) {
  if (is_byte(ctx.in(0)->dtype) && is_byte(ctx.in(1)->dtype)) {
    const ByteOperand a(*ctx.in(0), nullptr), b(*ctx.in(1), nullptr);
    const int32_t za = a.value(static_cast<uint8_t>(a_zero)), zb = b.value(static_cast<uint8_t>(b_zero));
    walk_pairs(
        ctx, [&](int64_t i) { return a.value(a.data[i]) - za; }, [&](int64_t i) { return b.value(b.data[i]) - zb; }, f);
  } else {
    const CodeReader a(*ctx.in(0)), b(*ctx.in(1));
    walk_pairs(
        ctx, [&](int64_t i) { return int64_t{a[i] - a_zero}; }, [&](int64_t i) { return int64_t{b[i] - b_zero}; }, f);
  }
  return Status::kOk;
}

Status run_add(const KernelContext& ctx) {
  const auto& t = ctx.attrs<attrs::IntAdd>();
  const Codes codes(t);
  const float ma = t.a_multiplier(), mb = t.b_multiplier();
  uint8_t* y = ctx.out(0)->as<uint8_t>();
  return run_int_binary(ctx, t.a_zero(), t.b_zero(), [&](auto a, auto b, int64_t at) {
    const float pa = static_cast<float>(static_cast<int32_t>(a)) * ma;
    const float pb = static_cast<float>(static_cast<int32_t>(b)) * mb;
    codes.put_real(y, at, pa + pb);
  });
}

Status run_mul(const KernelContext& ctx) {
  const auto& t = ctx.attrs<attrs::IntMul>();
  const Codes codes(t);
  const float m = t.multiplier();
  uint8_t* y = ctx.out(0)->as<uint8_t>();
  return run_int_binary(ctx, t.a_zero(), t.b_zero(),
                        [&](auto a, auto b, int64_t at) { codes.put_sum(y, at, a * b, m); });
}

}  // namespace

extern const RefKernel kIntAddRef;
const RefKernel kIntAddRef = {run_add, nullptr};
extern const RefKernel kIntMulRef;
const RefKernel kIntMulRef = {run_mul, nullptr};

}  // namespace vireo
