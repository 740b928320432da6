// Reductions over one run of neighbouring axes, float32.
#include "delegates/cpu/kernels/reduce/reduce.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/activation/activation.h"
#include "delegates/cpu/reduction.h"

namespace vireo {
namespace {

using Run = cpu::Reduction;

bool read(const CpuQuery& q, Run* out) {
  const int64_t* axes = nullptr;
  int64_t count = 0;
  if (!cpu::constant_axes(q, &axes, &count)) return false;
  return cpu::read_reduction(q.op, q.node.attrs, q.inputs[0].type.shape.rank, axes, count, out);
}

void prepare(const CpuQuery& q, void* state) { (void)read(q, new (state) Run()); }

Status run(const KernelContext& ctx, const void* state) {
  const Run& r = *static_cast<const Run*>(state);
  const Shape& s = ctx.in(0)->shape;
  Tensor& y = *ctx.out(0);
  cpu::reduce_f32(r.kind, ctx.in(0)->as<const float>(), y.as<float>(), product(s, 0, r.first),
                  product(s, r.first, r.last), product(s, r.last, s.rank), ctx.parallel);
  if (r.root) cpu::activate_f32(y.as<float>(), y.as<float>(), y.count(), {cpu::Activation::kSqrt}, ctx.parallel);
  return Status::kOk;
}

constexpr CpuKernel kReduce = {"reduce_f32", sizeof(Run), nullptr, prepare, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  Run r;
  *reason = "tuned for float32 and constant, neighbouring axes";
  if (q.inputs[0].type.dtype != DType::kF32 || !read(q, &r)) return nullptr;
  *reason = "";
  return &kReduce;
}

}  // namespace

extern const CpuOp kCpuOp_reduce;
const CpuOp kCpuOp_reduce = {"reduce", choose};

}  // namespace vireo
