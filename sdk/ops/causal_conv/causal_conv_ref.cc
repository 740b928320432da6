#include <math.h>

#include "sdk/ops/causal_conv/causal_conv_generated.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/dispatch.h"

namespace vireo {
namespace {

template <class T>
void convolve(const KernelContext& ctx) {
  const bool silu = ctx.attrs<attrs::CausalConv>().silu();
  const Tensor &x = *ctx.in(0), &w = *ctx.in(1);
  const Tensor *b = ctx.in(2), *past = ctx.in(3);
  const int64_t channels = x.shape[1], steps = x.shape[2], k = w.shape[2];
  ctx.parallel.for_range(x.shape[0] * channels, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t c = row % channels;
      const T* now = x.as<const T>() + row * steps;
      const T* before = past == nullptr ? nullptr : past->as<const T>() + row * (k - 1);
      // Sample t of the past and this call's input, joined.
      const auto joined = [&](int64_t t) {
        if (t >= k - 1) return now[t - (k - 1)];
        return before == nullptr ? T(0.0f) : before[t];
      };
      for (int64_t t = 0; t < steps && ctx.out(0) != nullptr; ++t) {
        float sum = b == nullptr ? 0 : static_cast<float>(b->as<const T>()[c]);
        for (int64_t j = 0; j < k; ++j) {
          sum += static_cast<float>(w.as<const T>()[c * k + j]) * static_cast<float>(joined(t + j));
        }
        ctx.out(0)->as<T>()[row * steps + t] = T(silu ? sum / (1 + static_cast<float>(exp(-sum))) : sum);
      }
      for (int64_t t = 0; t < k - 1 && ctx.out(1) != nullptr; ++t) {
        ctx.out(1)->as<T>()[row * (k - 1) + t] = joined(steps + t);
      }
    }
  });
}

Status run_causal_conv(const KernelContext& ctx) {
  switch (ctx.in(0)->dtype) {
    case DType::kF32:
      convolve<float>(ctx);
      return Status::kOk;
    case DType::kF16:
      convolve<F16>(ctx);
      return Status::kOk;
    case DType::kBF16:
      convolve<BF16>(ctx);
      return Status::kOk;
    default:
      return Status::kUnsupported;
  }
}

}  // namespace

extern const RefKernel kCausalConvWithStateRef;
const RefKernel kCausalConvWithStateRef = {run_causal_conv, nullptr};

}  // namespace vireo
