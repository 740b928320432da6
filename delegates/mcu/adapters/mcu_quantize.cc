// QuantizeLinear and DequantizeLinear between float32 and 8-bit codes, one scale for all.
#include "delegates/cpu/cpu_op.h"
#include "delegates/mcu/adapters/codes_of.h"
#include "delegates/mcu/nodes/read_quantize.h"

namespace vireo {
namespace {

uint8_t zero_of(const KernelContext& ctx) { return ctx.in(2) != nullptr ? *mcu::codes_in(ctx, 2) : 0; }

Status run_quantize(const KernelContext& ctx, const void*) {
  const Tensor &x = *ctx.in(0), &y = *ctx.out(0);
  const uint8_t zero = zero_of(ctx);
  const vireo_mcu_codes codes = mcu::codes_between(y.dtype, zero);
  vireo_mcu_quantize(x.as<const float>(), static_cast<int32_t>(x.count()), *ctx.in(1)->as<const float>(), &codes,
                     mcu::codes_out(ctx));
  return Status::kOk;
}

Status run_dequantize(const KernelContext& ctx, const void*) {
  const Tensor& x = *ctx.in(0);
  vireo_mcu_dequantize(x.as<const uint8_t>(), static_cast<int32_t>(x.count()), mcu::flip_of(x.dtype), zero_of(ctx),
                       *ctx.in(1)->as<const float>(), ctx.out(0)->as<float>());
  return Status::kOk;
}

constexpr CpuKernel kQuantize = {"mcu_quantize", 0, nullptr, nullptr, run_quantize};
constexpr CpuKernel kDequantize = {"mcu_dequantize", 0, nullptr, nullptr, run_dequantize};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = mcu::why_not_quantize(q);
  if (**reason != 0) return nullptr;
  return q.op == Op::kQuantizeLinear ? &kQuantize : &kDequantize;
}

}  // namespace

extern const CpuOp kCpuOp_mcu_quantize;
const CpuOp kCpuOp_mcu_quantize = {"mcu_quantize", choose};

}  // namespace vireo
