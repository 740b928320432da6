#include "sdk/base/requantize.h"
#include "sdk/ops/kernel.h"

namespace vireo {
namespace {

Status run_dynamic_quantize(const KernelContext& ctx) {
  const float* x = ctx.in(0)->as<const float>();
  const int64_t count = ctx.in(0)->count();
  float low = 0, high = 0;
  for (int64_t i = 0; i < count; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  const float scale = high == low ? 1.0f : (high - low) / 255.0f;
  const int32_t zero_point = round_and_clamp(0.0f - low / scale, 0, 0, 255);
  if (ctx.out(0) != nullptr) {
    for (int64_t i = 0; i < count; ++i) {
      ctx.out(0)->as<uint8_t>()[i] = static_cast<uint8_t>(round_and_clamp(x[i] / scale, zero_point, 0, 255));
    }
  }
  if (ctx.out(1) != nullptr) *ctx.out(1)->as<float>() = scale;
  if (ctx.out(2) != nullptr) *ctx.out(2)->as<uint8_t>() = static_cast<uint8_t>(zero_point);
  return Status::kOk;
}

}  // namespace

extern const RefKernel kDynamicQuantizeLinearRef;
const RefKernel kDynamicQuantizeLinearRef = {run_dynamic_quantize, nullptr};

}  // namespace vireo
