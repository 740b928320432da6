// A sum and the layer or RMS normalisation of it, float32: the composite "add_norm".
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
  const Tensor& residual = ctx.required(static_cast<size_t>(f.residual));
  if (!(residual.shape == x.shape))
    return ctx.fail(Status::kInvalidModel, "the value to be added has another shape than the result");
  cpu::NormF32 n = cpu::norm_shape(f, ctx, x.shape);
  n.residual = residual.as<const float>();
  if (ctx.outputs.size() > 1 && ctx.out(1) != nullptr) n.sum = ctx.out(1)->as<float>();
  cpu::norm_f32(n, x.as<const float>(), ctx.out(0)->as<float>(), ctx.parallel);
  return Status::kOk;
}

constexpr CpuKernel kLayer = {"add_layer_norm_f32", sizeof(FusedNorm), nullptr, prepare, run};
constexpr CpuKernel kRms = {"add_rms_norm_f32", sizeof(FusedNorm), nullptr, prepare, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  FusedNorm f;
  *reason = "its body is not a float32 sum and its normalisation";
  if (!match_norm(q, &f) || f.half) return nullptr;
  *reason = "";
  return f.rms ? &kRms : &kLayer;
}

}  // namespace

extern const CpuOp kCpuOp_add_norm;
const CpuOp kCpuOp_add_norm = {"add_norm", choose};

}  // namespace vireo
