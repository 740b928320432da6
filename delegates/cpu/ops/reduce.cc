// Reductions over one run of neighbouring axes, float32.
#include "delegates/cpu/kernels/reduce/reduce.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/activation/activation.h"
#include "sdk/ops/reduce/reduce_generated.h"

namespace vireo {
namespace {

struct Run {
  cpu::Reduce kind = cpu::Reduce::kSum;
  bool root = false;        // L2: the square root of the sum of squares
  int first = 0, last = 0;  // axes [first, last)
};

bool read(const CpuQuery& q, Run* out) {
  const int rank = q.inputs[0].type.shape.rank;
  bool noop = false;
  if (q.op == Op::kReduceNorm) {
    const auto& a = q.attrs<attrs::ReduceNorm>();
    noop = a.noop_with_empty_axes();
    if (a.norm() == attrs::Norm::L1) {
      out->kind = cpu::Reduce::kSumAbs;
    } else if (a.norm() == attrs::Norm::L2 || a.norm() == attrs::Norm::SumSquare) {
      out->kind = cpu::Reduce::kSumSquare;
      out->root = a.norm() == attrs::Norm::L2;
    } else {
      return false;
    }
  } else {
    noop = q.attrs<attrs::Reduce>().noop_with_empty_axes();
    out->kind = q.op == Op::kReduceMean   ? cpu::Reduce::kMean
                : q.op == Op::kReduceMax  ? cpu::Reduce::kMax
                : q.op == Op::kReduceMin  ? cpu::Reduce::kMin
                : q.op == Op::kReduceProd ? cpu::Reduce::kProduct
                                          : cpu::Reduce::kSum;
  }
  uint32_t mask = 0;
  if (q.input_count > 1 && q.inputs[1].type.dtype != DType::kNone) {
    const CpuValue& axes = q.inputs[1];
    if (axes.constant == nullptr || axes.type.dtype != DType::kI64) return false;
    const int64_t count = product(axes.type.shape, 0, axes.type.shape.rank);
    for (int64_t i = 0; i < count; ++i) {
      const int axis = normalize_axis(axes.as<int64_t>()[i], rank);
      if (axis < 0) return false;
      mask |= 1u << axis;
    }
  }
  if (mask == 0) {
    if (noop || rank == 0) return false;
    mask = (1u << rank) - 1;
  }
  while ((mask >> out->first & 1) == 0) ++out->first;
  out->last = out->first;
  while (out->last < rank && (mask >> out->last & 1) != 0) ++out->last;
  return mask >> out->last == 0;
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

constexpr Op kOps[] = {Op::kReduceSum, Op::kReduceMean, Op::kReduceMax,
                       Op::kReduceMin, Op::kReduceProd, Op::kReduceNorm};

}  // namespace

extern const CpuOp kCpuOp_reduce;
const CpuOp kCpuOp_reduce = {"reduce", choose, Span<const Op>(kOps)};

}  // namespace vireo
