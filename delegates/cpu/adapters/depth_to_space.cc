// DepthToSpace and SpaceToDepth: six extents, copied in another order.
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/transpose/transpose.h"
#include "sdk/ops/depth_to_space/depth_to_space_generated.h"

namespace vireo {
namespace {

// Elements of y in its order [N, d1, d2, d3, d4, d5], read at these extents of x seen as [N, ...].
Status copy(const KernelContext& ctx, const int64_t (&view)[6], const int (&perm)[6]) {
  int64_t steps[6], step = 1;
  for (int i = 5; i >= 0; --i) {
    steps[i] = step;
    step *= view[i];
  }
  cpu::StridedCopy s;
  s.rank = 6;
  for (int i = 0; i < 6; ++i) {
    s.dims[i] = view[perm[i]];
    s.strides[i] = steps[perm[i]];
  }
  const Tensor& x = *ctx.in(0);
  cpu::strided_copy(s, dtype_bits(x.dtype) / 8, x.data, ctx.out(0)->data, ctx.parallel);
  return Status::kOk;
}

Status run_depth(const KernelContext& ctx, const void*) {
  const auto& a = ctx.attrs<attrs::DepthToSpace>();
  const Shape& x = ctx.in(0)->shape;
  const int64_t b = a.blocksize(), c = x[1] / (b * b);
  if (a.mode() == attrs::DepthToSpaceMode::dcr) return copy(ctx, {x[0], b, b, c, x[2], x[3]}, {0, 3, 4, 1, 5, 2});
  return copy(ctx, {x[0], c, b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3});
}

Status run_space(const KernelContext& ctx, const void*) {
  const auto& a = ctx.attrs<attrs::SpaceToDepth>();
  const Shape& x = ctx.in(0)->shape;
  const int64_t b = a.blocksize();
  const int64_t view[6] = {x[0], x[1], x[2] / b, b, x[3] / b, b};
  if (a.mode() == attrs::DepthToSpaceMode::dcr) return copy(ctx, view, {0, 3, 5, 1, 2, 4});
  return copy(ctx, view, {0, 1, 3, 5, 2, 4});
}

constexpr CpuKernel kDepth = {"depth_to_space", 0, nullptr, nullptr, run_depth};
constexpr CpuKernel kSpace = {"space_to_depth", 0, nullptr, nullptr, run_space};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const int bits = dtype_bits(q.inputs[0].type.dtype);
  *reason = "tuned for elements of 1, 2, 4, 8 or 16 bytes";
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128) return nullptr;
  *reason = "";
  return q.op == Op::kDepthToSpace ? &kDepth : &kSpace;
}

}  // namespace

extern const CpuOp kCpuOp_depth_to_space;
const CpuOp kCpuOp_depth_to_space = {"depth_to_space", choose};

}  // namespace vireo
