// Elementwise functions of two float32 tensors.
#include "delegates/cpu/binary_function.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/eltwise/eltwise.h"

namespace vireo {
namespace {

// Strides of an operand that broadcasts to `y`: 0 along its axes of extent 1 and those it lacks.
void strides_of(const Shape& own, const Shape& y, int64_t* strides) {
  int64_t step = 1;
  for (int i = y.rank - 1, j = own.rank - 1; i >= 0; --i, --j) {
    strides[i] = j < 0 || own[j] == 1 ? 0 : step;
    if (j >= 0) step *= own[j];
  }
}

void prepare(const CpuQuery& q, void* state) { (void)cpu::binary_function(q.op, static_cast<cpu::Binary*>(state)); }

Status run(const KernelContext& ctx, const void* state) {
  const Tensor &a = *ctx.in(0), &b = *ctx.in(1);
  Tensor& y = *ctx.out(0);
  cpu::BinaryF32 s;
  static_assert(cpu::BinaryF32::kMaxRank >= kMaxRank, "every shape fits");
  s.op = *static_cast<const cpu::Binary*>(state);
  s.rank = y.shape.rank;
  for (int i = 0; i < s.rank; ++i) s.dims[i] = y.shape[i];
  strides_of(a.shape, y.shape, s.a_strides);
  strides_of(b.shape, y.shape, s.b_strides);
  cpu::binary_f32(s, a.as<const float>(), b.as<const float>(), y.as<float>(), ctx.parallel);
  return Status::kOk;
}

constexpr CpuKernel kBinary = {"binary_f32", sizeof(cpu::Binary), nullptr, prepare, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "tuned for float32 alone";
  if (q.input_count != 2 || q.inputs[0].type.dtype != DType::kF32 || q.inputs[1].type.dtype != DType::kF32)
    return nullptr;
  *reason = "";
  return &kBinary;
}

constexpr Op kOps[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMin, Op::kMax, Op::kPow, Op::kPRelu};

}  // namespace

extern const CpuOp kCpuOp_binary;
const CpuOp kCpuOp_binary = {"binary", choose, Span<const Op>(kOps)};

}  // namespace vireo
