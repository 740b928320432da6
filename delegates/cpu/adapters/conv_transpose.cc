// ConvTranspose, alone or as the core of a composite, float32, channels first.
#include "sdk/ops/conv_transpose/conv_transpose.h"
#include "delegates/cpu/conv_shape.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/forms.h"
#include "delegates/cpu/kernels/conv/conv.h"

namespace vireo {
namespace {

using cpu::Fused;

cpu::ConvF32 shape_of(const Fused& f, const Shape& x, const Shape& w, const Shape& y) {
  const auto& a = f.core_attrs<attrs::ConvTranspose>();
  cpu::ConvF32 c = cpu::conv_shape(conv_transpose_geometry(a, x, w, y), a.group());
  c.act = f.act;
  c.residual_last = f.residual_last;
  c.residual_times = f.residual_times;
  return c;
}

int64_t scratch_bytes(const CpuQuery& q) {
  const Fused* const f = cpu::product_of(q);
  if (f == nullptr) return 0;
  const cpu::ConvF32 c = shape_of(*f, f->inputs[0].type.shape, f->inputs[1].type.shape, f->core_type.shape);
  return static_cast<int64_t>(
      cpu::conv_transpose_f32_scratch_bytes(c, q.slots, q.is_static() ? cpu::Sizes::kFixed : cpu::Sizes::kUpperBounds));
}

void prepare(const CpuQuery& q, void* state) {
  if (const Fused* const f = cpu::product_of(q)) new (state) Fused(*f);
}

Status run(const KernelContext& ctx, const void* state) {
  const auto& f = *static_cast<const Fused*>(state);
  if (!composites::fits(ctx, f))
    return ctx.fail(Status::kInvalidModel, "the value to be added has another shape than the result");
  const Tensor& x = ctx.required(static_cast<size_t>(f.inputs[0].input));
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  cpu::ConvF32 c = shape_of(f, x.shape, f.inputs[1].shape(ctx), y.shape);
  if (f.input_count > 2 && f.inputs[2].given()) c.bias = f.inputs[2].f32(ctx);
  if (f.bias.given()) c.bias = f.bias.f32(ctx);
  if (f.residual.given()) c.residual = f.residual.f32(ctx);
  if (f.slope.given()) c.slope = f.slope.f32(ctx);
  cpu::conv_transpose_f32(c, x.as<const float>(), f.inputs[1].f32(ctx), y.as<float>(), ctx.parallel,
                          ctx.scratch.data());
  return Status::kOk;
}

constexpr CpuKernel kKernel = {"conv_transpose_f32_nchw", sizeof(Fused), scratch_bytes, prepare, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const Fused* const found = cpu::product_of(q);
  *reason = "";  // another body is another kernel's
  if (found == nullptr || found->core != Op::kConvTranspose) return nullptr;
  const Fused& f = *found;
  *reason = "tuned for float32 in NCHW alone";
  if (f.core_type.dtype != DType::kF32 || f.core_attrs<attrs::ConvTranspose>().layout() != 0 || f.inputs[0].input < 0)
    return nullptr;
  if (f.core_type.shape.rank < 3 || f.core_type.shape.rank > 5) return nullptr;
  *reason = "";
  return &kKernel;
}

}  // namespace

extern const CpuOp kCpuOp_conv_transpose;
const CpuOp kCpuOp_conv_transpose = {"conv_transpose", choose};

}  // namespace vireo
