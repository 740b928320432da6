// Transpose of elements of whole bytes.
#include "delegates/cpu/kernels/transpose/transpose.h"
#include "delegates/cpu/cpu_op.h"
#include "sdk/ops/transpose/transpose_generated.h"

namespace vireo {
namespace {

Status run(const KernelContext& ctx, const void*) {
  const Tensor& x = *ctx.in(0);
  const auto* perm = ctx.attrs<attrs::Transpose>().perm();
  const int rank = x.shape.rank;
  int64_t steps[kMaxRank] = {}, step = 1;
  for (int i = rank - 1; i >= 0; --i) {
    steps[i] = step;
    step *= x.shape[i];
  }
  cpu::StridedCopy s;
  static_assert(cpu::StridedCopy::kMaxRank >= kMaxRank, "every shape fits");
  s.rank = rank;
  for (int i = 0; i < rank; ++i) {
    const int from = perm == nullptr ? rank - 1 - i : perm->Get(static_cast<unsigned>(i));
    s.dims[i] = x.shape[from];
    s.strides[i] = steps[from];
  }
  cpu::strided_copy(s, dtype_bits(x.dtype) / 8, x.data, ctx.out(0)->data, ctx.parallel);
  return Status::kOk;
}

constexpr CpuKernel kTranspose = {"transpose", 0, nullptr, nullptr, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const int bits = dtype_bits(q.inputs[0].type.dtype);
  *reason = "tuned for elements of 1, 2, 4, 8 or 16 bytes";
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128) return nullptr;
  *reason = "";
  return &kTranspose;
}

}  // namespace

extern const CpuOp kCpuOp_transpose;
const CpuOp kCpuOp_transpose = {"transpose", choose};

}  // namespace vireo
