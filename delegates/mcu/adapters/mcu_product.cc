// IntConv and IntGemm of 8-bit codes.
#include "delegates/cpu/cpu_op.h"
#include "delegates/mcu/adapters/codes_of.h"
#include "delegates/mcu/nodes/read_product.h"

namespace vireo {
namespace {

const int32_t* bias_of(const KernelContext& ctx) {
  return ctx.in(3) != nullptr ? ctx.in(3)->as<const int32_t>() : nullptr;
}
const int8_t* zeros_of(const KernelContext& ctx) {
  return ctx.in(4) != nullptr ? ctx.in(4)->as<const int8_t>() : nullptr;
}

// ---- Convolution

void prepare_conv(const CpuQuery& q, void* state) { (void)mcu::read_conv(q, static_cast<vireo_mcu_conv*>(state)); }

int64_t conv_scratch(const CpuQuery& q) {
  vireo_mcu_conv c = {};
  (void)mcu::read_conv(q, &c);
  return mcu::slides(c) ? vireo_mcu_depthwise_scratch(&c) : vireo_mcu_conv_scratch(&c);
}

Status run_conv(const KernelContext& ctx, const void* state) {
  const auto& c = *static_cast<const vireo_mcu_conv*>(state);
  const auto run = mcu::slides(c) ? vireo_mcu_depthwise_run : vireo_mcu_conv_run;
  run(&c, mcu::codes_in(ctx, 0), mcu::codes_in(ctx, 1), ctx.in(2)->as<const float>(), bias_of(ctx), zeros_of(ctx),
      mcu::codes_out(ctx), ctx.scratch.data());
  return Status::kOk;
}

// ---- Matrix product

void prepare_gemm(const CpuQuery& q, void* state) { (void)mcu::read_gemm(q, static_cast<vireo_mcu_gemm*>(state)); }

int64_t gemm_scratch(const CpuQuery& q) {
  vireo_mcu_gemm g = {};
  (void)mcu::read_gemm(q, &g);
  return vireo_mcu_gemm_scratch(&g);
}

Status run_gemm(const KernelContext& ctx, const void* state) {
  vireo_mcu_gemm_run(static_cast<const vireo_mcu_gemm*>(state), mcu::codes_in(ctx, 0), mcu::codes_in(ctx, 1),
                     ctx.in(2)->as<const float>(), bias_of(ctx), zeros_of(ctx), mcu::codes_out(ctx),
                     ctx.scratch.data());
  return Status::kOk;
}

constexpr CpuKernel kConv = {"mcu_conv", sizeof(vireo_mcu_conv), conv_scratch, prepare_conv, run_conv};
constexpr CpuKernel kGemm = {"mcu_gemm", sizeof(vireo_mcu_gemm), gemm_scratch, prepare_gemm, run_gemm};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  union {
    vireo_mcu_conv conv;
    vireo_mcu_gemm gemm;
  } read;
  *reason = mcu::why_not_product(q, &read.conv, &read.gemm);
  if (**reason != 0) return nullptr;
  return q.op == Op::kIntConv ? &kConv : &kGemm;
}

}  // namespace

extern const CpuOp kCpuOp_mcu_product;
const CpuOp kCpuOp_mcu_product = {"mcu_product", choose};

}  // namespace vireo
