// A layer or RMS normalisation whose result is rounded to bfloat16: the composite "norm_bf16".
#include <new>

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/norm_form.h"

namespace vireo {
namespace {

using composites::FusedNorm;
using composites::match_norm;

void prepare(const CpuQuery& q, void* state) { (void)match_norm(q, new (state) FusedNorm()); }

Status run(const KernelContext& ctx, const void* state) {
  const auto& f = *static_cast<const FusedNorm*>(state);
  const Tensor& x = ctx.required(static_cast<size_t>(f.x));
  cpu::norm_bf16(cpu::norm_shape(f, ctx, x.shape), x.as<const float>(), ctx.out(0)->as<uint16_t>(), ctx.parallel);
  return Status::kOk;
}

constexpr CpuKernel kLayer = {"layer_norm_bf16", sizeof(FusedNorm), nullptr, prepare, run};
constexpr CpuKernel kRms = {"rms_norm_bf16", sizeof(FusedNorm), nullptr, prepare, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  FusedNorm f;
  *reason = "its body is not a float32 normalisation that is rounded to bfloat16";
  if (!match_norm(q, &f) || !f.half) return nullptr;
  *reason = "";
  return f.rms ? &kRms : &kLayer;
}

}  // namespace

extern const CpuOp kCpuOp_norm_bf16;
const CpuOp kCpuOp_norm_bf16 = {"norm_bf16", choose};

}  // namespace vireo
