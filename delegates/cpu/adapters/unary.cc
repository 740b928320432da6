// Elementwise functions of one float32 tensor.
#include "delegates/cpu/activate_of.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/activation/activation.h"

namespace vireo {
namespace {

void prepare(const CpuQuery& q, void* state) {
  (void)cpu::read_activation({*q.host, q.graph}, q.node, new (state) cpu::Activate());
}

Status run(const KernelContext& ctx, const void* state) {
  const Tensor& x = *ctx.in(0);
  cpu::activate_f32(x.as<const float>(), ctx.out(0)->as<float>(), x.count(), *static_cast<const cpu::Activate*>(state),
                    ctx.parallel);
  return Status::kOk;
}

constexpr CpuKernel kUnary = {"activate_f32", sizeof(cpu::Activate), nullptr, prepare, run};

template <Op kOp>
void prepare_sine(const CpuQuery&, void* state) {
  new (state) cpu::Activate{kOp == Op::kSin ? cpu::Activation::kSin : cpu::Activation::kCos, 0, 0};
}
constexpr CpuKernel kSin = {"sin_f32", sizeof(cpu::Activate), nullptr, prepare_sine<Op::kSin>, run};
constexpr CpuKernel kCos = {"cos_f32", sizeof(cpu::Activate), nullptr, prepare_sine<Op::kCos>, run};

Status run_sign(const KernelContext& ctx, const void*) {
  const float* const x = ctx.in(0)->as<const float>();
  float* const y = ctx.out(0)->as<float>();
  ctx.parallel.for_range(ctx.in(0)->count(), kElementGrain, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      const float v = x[i], sign = static_cast<float>(v > 0) - static_cast<float>(v < 0);
      y[i] = v == v ? sign : v;  // NaN stays
    }
  });
  return Status::kOk;
}

constexpr CpuKernel kSign = {"sign_f32", 0, nullptr, nullptr, run_sign};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  cpu::Activate a;
  *reason = "";
  if (q.op == Op::kSign && q.inputs[0].type.dtype == DType::kF32) return &kSign;
  if (q.op == Op::kSin && q.inputs[0].type.dtype == DType::kF32) return &kSin;
  if (q.op == Op::kCos && q.inputs[0].type.dtype == DType::kF32) return &kCos;
  *reason = "tuned for float32 and constant limits alone";
  if (q.inputs[0].type.dtype != DType::kF32 || !cpu::read_activation({*q.host, q.graph}, q.node, &a)) return nullptr;
  *reason = "";
  return &kUnary;
}

}  // namespace

extern const CpuOp kCpuOp_unary;
const CpuOp kCpuOp_unary = {"unary", choose};

}  // namespace vireo
