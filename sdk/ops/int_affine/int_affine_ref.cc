#include "sdk/ops/int_affine/int_affine_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/broadcast.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

// x(i): element i less its zero point.
template <class X>
Status run(const KernelContext& ctx, const X& x) {
  const float* const factor = ctx.in(1)->as<const float>();
  const float* const below = ctx.in(2) != nullptr ? ctx.in(2)->as<const float>() : factor;
  const float* const offset = ctx.in(3) != nullptr ? ctx.in(3)->as<const float>() : nullptr;
  const Codes codes(ctx.attrs<attrs::IntAffine>());
  const Shape* shapes[] = {&ctx.in(0)->shape, &ctx.in(1)->shape};
  const Broadcast walk(ctx.out(0)->shape, shapes, 2);
  const int64_t row = walk.row(), step = walk.step(1);
  uint8_t* const y = ctx.out(0)->as<uint8_t>();
  ctx.parallel.for_range(walk.rows(), 1 + kElementGrain / (row + 1), [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t at = walk.offset(1, r);
      for (int64_t i = 0; i < row; ++i) {
        const int32_t d = x(r * row + i);
        float v = static_cast<float>(d) * (d < 0 ? below : factor)[at + i * step];
        if (offset != nullptr) v += offset[at + i * step];
        codes.put_real(y, r * row + i, v);
      }
    }
  });
  return Status::kOk;
}

Status run_int_affine(const KernelContext& ctx) {
  const int32_t x_zero = ctx.attrs<attrs::IntAffine>().x_zero();
  if (is_half_word(ctx.in(0)->dtype)) {
    const CodeReader x(*ctx.in(0));
    return run(ctx, [&](int64_t i) { return x[i] - x_zero; });
  }
  const ByteOperand x(*ctx.in(0), nullptr);
  const int32_t zero = x.value(static_cast<uint8_t>(x_zero));
  return run(ctx, [&](int64_t i) { return x.value(x.data[i]) - zero; });
}

}  // namespace

extern const RefKernel kIntAffineRef;
const RefKernel kIntAffineRef = {run_int_affine, nullptr};

}  // namespace vireo
