#include <type_traits>

#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/matmul/matmul.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

// Sums of a_value(code) * b_value(code, column) in A.
template <class A, class Left, class Right, class AValue, class BValue>
void run(const KernelContext& ctx, const Left* a, Right b, const AValue& a_value, const BValue& b_value) {
  const Tensor& m = *ctx.in(2);
  const MatmulShape s = matmul_shape(ctx.in(0)->shape, ctx.in(1)->shape, ctx.out(0)->shape);
  const float* multipliers = m.as<const float>();
  const bool many = m.count() != 1;
  const int32_t* bias = ctx.in(3) != nullptr ? ctx.in(3)->as<const int32_t>() : nullptr;
  const Codes codes(ctx.attrs<attrs::IntGemm>());
  uint8_t* y = ctx.out(0)->as<uint8_t>();
  ctx.parallel.for_range(s.batch * s.m, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t a_at = 0, b_at = 0;
      s.offsets(row / s.m, &a_at, &b_at);
      const Left* line = a + a_at + row % s.m * s.k;
      for (int64_t n = 0; n < s.n; ++n) {
        A acc = bias != nullptr ? static_cast<A>(bias[n]) : 0;
        for (int64_t k = 0; k < s.k; ++k) acc += static_cast<A>(a_value(line[k]) * b_value(b[b_at + k * s.n + n], n));
        codes.put_sum(y, row * s.n + n, static_cast<std::make_signed_t<A>>(acc), multipliers[many ? n : 0]);
      }
    }
  });
}

Status run_int_gemm(const KernelContext& ctx) {
  const int32_t a_zero = ctx.attrs<attrs::IntGemm>().a_zero();
  const Tensor &a_in = *ctx.in(0), &b_in = *ctx.in(1);
  const ByteOperand b(b_in, ctx.in(4));
  const auto weight = [&](uint8_t bv, int64_t n) { return b.value(bv) - b.zero(n); };
  if (is_half_word(a_in.dtype)) {
    const HalfWordOperand a(a_in);
    const int32_t za = a.value(static_cast<uint16_t>(a_zero));
    run<int64_t>(
        ctx, a.data, b.data, [&](uint16_t av) { return a.value(av) - za; },
        [&](uint8_t bv, int64_t n) { return int64_t{weight(bv, n)}; });
    return Status::kOk;
  }
  const ByteOperand a(a_in, nullptr);
  const int32_t za = a.value(static_cast<uint8_t>(a_zero));
  const auto value = [&](uint8_t av) { return a.value(av) - za; };
  if (b_in.dtype == DType::kI4) {
    run<uint32_t>(ctx, a.data, NibbleReader{b.data}, value, [&](int32_t bv, int64_t n) { return bv - b.zero(n); });
  } else {
    run<uint32_t>(ctx, a.data, b.data, value, weight);
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kIntGemmRef;
const RefKernel kIntGemmRef = {run_int_gemm, nullptr};

}  // namespace vireo
