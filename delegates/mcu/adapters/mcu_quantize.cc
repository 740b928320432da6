// QuantizeLinear and DequantizeLinear between float32 and 8-bit codes, one scale for all.
#include "delegates/mcu/adapters/serve.h"
#include "delegates/mcu/kernels/codes.h"
#include "sdk/ops/quantize/quantize_generated.h"

namespace vireo {
namespace {

uint8_t zero_of(const KernelContext& ctx) { return ctx.in(2) != nullptr ? *mcu::codes_in(ctx, 2) : 0; }

Status run_quantize(const KernelContext& ctx, const void*) {
  const Tensor &x = *ctx.in(0), &y = *ctx.out(0);
  const uint8_t zero = zero_of(ctx);
  const bool is_signed = y.dtype == DType::kI8;
  const vireo_mcu_codes codes = {is_signed ? static_cast<int8_t>(zero) : int32_t{zero}, is_signed ? -128 : 0,
                                 is_signed ? 127 : 255};
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
  const bool makes_codes = q.op == Op::kQuantizeLinear;
  const DType codes = (makes_codes ? q.outputs[0] : q.inputs[0]).type.dtype;
  const DType reals = (makes_codes ? q.inputs[0] : q.outputs[0]).type.dtype;
  *reason = "tuned for float32 and codes of 8 bits";
  if (!is_byte(codes) || reals != DType::kF32 || q.inputs[1].type.dtype != DType::kF32) return nullptr;
  *reason = "tuned for sizes that are known and small";
  if (!mcu::serves_sizes(q)) return nullptr;
  *reason = "tuned for one scale for all";
  const Shape& scale = q.inputs[1].type.shape;
  if (product(scale, 0, scale.rank) != 1) return nullptr;
  if (makes_codes
          ? q.attrs<attrs::QuantizeLinear>().block_size() != 0 || q.attrs<attrs::QuantizeLinear>().precision() != 0
          : q.attrs<attrs::DequantizeLinear>().block_size() != 0) {
    return nullptr;
  }
  *reason = "";
  return makes_codes ? &kQuantize : &kDequantize;
}

}  // namespace

extern const CpuOp kCpuOp_mcu_quantize;
const CpuOp kCpuOp_mcu_quantize = {"mcu_quantize", choose};

}  // namespace vireo
