// Elementwise functions of float16, computed in float32 and rounded once.
#include "delegates/cpu/kernels/half/half.h"
#include "delegates/cpu/activate_of.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/activation/activation.h"

namespace vireo {
namespace {

void prepare_activation(const CpuQuery& q, void* state) {
  (void)cpu::read_activation({*q.host, q.graph}, q.node, new (state) cpu::Activate());
}

Status run_activation(const KernelContext& ctx, const void* state) {
  constexpr int64_t kChunk = 1024;  // 4 KiB of stack
  const auto& f = *static_cast<const cpu::Activate*>(state);
  const uint16_t* const x = ctx.in(0)->as<const uint16_t>();
  uint16_t* const y = ctx.out(0)->as<uint16_t>();
  ctx.parallel.for_range(ctx.in(0)->count(), 32 * kChunk, [&](int64_t begin, int64_t end, int32_t) {
    float wide[kChunk];
    for (int64_t i = begin; i < end; i += kChunk) {
      const int64_t count = end - i < kChunk ? end - i : kChunk;
      cpu::f32_from_f16(x + i, wide, count, Parallel{});
      cpu::activate_f32(wide, wide, count, f, Parallel{});
      cpu::f16_from_f32(wide, y + i, count, Parallel{});
    }
  });
  return Status::kOk;
}

constexpr CpuKernel kActivation = {"activate_f16", sizeof(cpu::Activate), nullptr, prepare_activation, run_activation};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const TensorType& x = q.inputs[0].type;
  *reason = "tuned for float32 and float16";
  if (x.dtype != DType::kF16) return nullptr;
  cpu::Activate a;
  *reason = "tuned for constant limits alone";
  if (!cpu::read_activation({*q.host, q.graph}, q.node, &a)) return nullptr;
  *reason = "";
  return &kActivation;
}

}  // namespace

extern const CpuOp kCpuOp_half;
const CpuOp kCpuOp_half = {"half", choose};

}  // namespace vireo
