#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/matmul/matmul.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

Status run_int_gemm(const KernelContext& ctx) {
  const auto& attributes = ctx.attrs<attrs::IntGemm>();
  const Tensor &a_in = *ctx.in(0), &b_in = *ctx.in(1), &m = *ctx.in(2);
  const MatmulShape s = matmul_shape(a_in.shape, b_in.shape, ctx.out(0)->shape);
  const ByteOperand a(a_in, nullptr), b(b_in, ctx.in(4));
  const int32_t za = a.value(static_cast<uint8_t>(attributes.a_zero()));
  const float* multipliers = m.as<const float>();
  const bool many = m.count() != 1;
  const int32_t* bias = ctx.in(3) != nullptr ? ctx.in(3)->as<const int32_t>() : nullptr;
  const Codes codes(attributes);
  uint8_t* y = ctx.out(0)->as<uint8_t>();
  ctx.parallel.for_range(s.batch * s.m, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t a_at = 0, b_at = 0;
      s.offsets(row / s.m, &a_at, &b_at);
      const uint8_t* line = a.data + a_at + row % s.m * s.k;
      for (int64_t n = 0; n < s.n; ++n) {
        const int32_t zb = b.zero(n);
        uint32_t acc = bias != nullptr ? static_cast<uint32_t>(bias[n]) : 0;
        for (int64_t k = 0; k < s.k; ++k) {
          acc += static_cast<uint32_t>((a.value(line[k]) - za) * (b.value(b.data[b_at + k * s.n + n]) - zb));
        }
        y[row * s.n + n] = codes.of_sum(static_cast<int32_t>(acc), multipliers[many ? n : 0]);
      }
    }
  });
  return Status::kOk;
}

}  // namespace

extern const RefKernel kIntGemmRef;
const RefKernel kIntGemmRef = {run_int_gemm, nullptr};

}  // namespace vireo
