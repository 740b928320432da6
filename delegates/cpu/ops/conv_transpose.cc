// ConvTranspose, float32, channels first.
#include "sdk/ops/conv_transpose/conv_transpose.h"
#include "delegates/cpu/conv_shape.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/conv/conv.h"

namespace vireo {
namespace {

cpu::ConvF32 shape_of(const attrs::ConvTranspose& a, const Shape& x, const Shape& w, const Shape& y) {
  return cpu::conv_shape(conv_transpose_geometry(a, x, w, y), a.group());
}

int64_t scratch_bytes(const CpuQuery& q) {
  const cpu::ConvF32 c = shape_of(q.attrs<attrs::ConvTranspose>(), q.inputs[0].type.shape, q.inputs[1].type.shape,
                                  q.outputs[0].type.shape);
  return static_cast<int64_t>(
      cpu::conv_transpose_f32_scratch_bytes(c, q.slots, q.is_static() ? cpu::Sizes::kFixed : cpu::Sizes::kUpperBounds));
}

Status run(const KernelContext& ctx, const void*) {
  const Tensor &x = *ctx.in(0), &w = *ctx.in(1);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  cpu::ConvF32 c = shape_of(ctx.attrs<attrs::ConvTranspose>(), x.shape, w.shape, y.shape);
  if (ctx.in(2) != nullptr) c.bias = ctx.in(2)->as<const float>();
  cpu::conv_transpose_f32(c, x.as<const float>(), w.as<const float>(), y.as<float>(), ctx.parallel, ctx.scratch.data());
  return Status::kOk;
}

constexpr CpuKernel kKernel = {"conv_transpose_f32_nchw", 0, scratch_bytes, nullptr, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "tuned for float32 in NCHW alone";
  const TensorType& x = q.inputs[0].type;
  if (x.dtype != DType::kF32 || q.attrs<attrs::ConvTranspose>().layout() != 0) return nullptr;
  if (x.shape.rank < 3 || x.shape.rank > 5) return nullptr;
  *reason = "";
  return &kKernel;
}

constexpr Op kOps[] = {Op::kConvTranspose};

}  // namespace

extern const CpuOp kCpuOp_conv_transpose;
const CpuOp kCpuOp_conv_transpose = {"conv_transpose", choose, Span<const Op>(kOps)};

}  // namespace vireo
