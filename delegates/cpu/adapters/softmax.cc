// Softmax and LogSoftmax, float32.
#include "delegates/cpu/kernels/softmax/softmax.h"
#include "delegates/cpu/cpu_op.h"
#include "sdk/ops/softmax/softmax_generated.h"

namespace vireo {
namespace {

template <bool kLog>
Status run(const KernelContext& ctx, const void*) {
  const Shape& s = ctx.in(0)->shape;
  const int axis = normalize_axis(ctx.attrs<attrs::Softmax>().axis(), s.rank);
  const int64_t length = s.rank == 0 ? 1 : s[axis];
  cpu::softmax_f32(ctx.in(0)->as<const float>(), ctx.out(0)->as<float>(), s.rank == 0 ? 1 : product(s, 0, axis), length,
                   s.rank == 0 ? 1 : product(s, axis + 1, s.rank), kLog, ctx.parallel);
  return Status::kOk;
}

constexpr CpuKernel kSoftmax = {"softmax_f32", 0, nullptr, nullptr, run<false>};
constexpr CpuKernel kLogSoftmax = {"log_softmax_f32", 0, nullptr, nullptr, run<true>};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "tuned for float32 alone";
  if (q.inputs[0].type.dtype != DType::kF32) return nullptr;
  *reason = "";
  return q.op == Op::kSoftmax ? &kSoftmax : &kLogSoftmax;
}

}  // namespace

extern const CpuOp kCpuOp_softmax;
const CpuOp kCpuOp_softmax = {"softmax", choose};

}  // namespace vireo
