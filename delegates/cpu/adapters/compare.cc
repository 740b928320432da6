// Comparisons of two tensors of float32 or of integers of 32 or 64 bits.
#include "delegates/cpu/kernels/eltwise/compare.h"
#include "delegates/cpu/broadcast_of.h"
#include "delegates/cpu/cpu_op.h"

namespace vireo {
namespace {

struct State {
  cpu::Comparison op;
  cpu::Compared type;
};

bool state_of(const CpuQuery& q, State* out) {
  if (q.input_count != 2 || q.inputs[0].type.dtype != q.inputs[1].type.dtype) return false;
  switch (q.inputs[0].type.dtype) {
    case DType::kF32:
      out->type = cpu::Compared::kF32;
      break;
    case DType::kI32:
      out->type = cpu::Compared::kI32;
      break;
    case DType::kI64:
      out->type = cpu::Compared::kI64;
      break;
    default:
      return false;
  }
  out->op = q.op == Op::kEqual  ? cpu::Comparison::kEqual
            : q.op == Op::kLess ? cpu::Comparison::kLess
                                : cpu::Comparison::kLessOrEqual;
  return true;
}

void prepare(const CpuQuery& q, void* state) { (void)state_of(q, static_cast<State*>(state)); }

Status run(const KernelContext& ctx, const void* state) {
  const Tensor &a = *ctx.in(0), &b = *ctx.in(1);
  Tensor& y = *ctx.out(0);
  const State& s = *static_cast<const State*>(state);
  cpu::Broadcast shape;
  cpu::set_broadcast(a.shape, b.shape, y.shape, &shape);
  cpu::compare(shape, s.op, s.type, a.data, b.data, y.as<uint8_t>(), ctx.parallel);
  return Status::kOk;
}

constexpr CpuKernel kCompare = {"compare", sizeof(State), nullptr, prepare, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  State state;
  const bool good = state_of(q, &state);
  *reason = good ? "" : "tuned for float32, int32 and int64";
  return good ? &kCompare : nullptr;
}

}  // namespace

extern const CpuOp kCpuOp_compare;
const CpuOp kCpuOp_compare = {"compare", choose};

}  // namespace vireo
