// ConvTranspose, alone or as the core of a composite, float32, channels first.
#include "sdk/ops/conv_transpose/conv_transpose.h"
#include "delegates/cpu/conv_shape.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/forms.h"
#include "delegates/cpu/kernels/conv/conv.h"
#include "delegates/cpu/kernels/transpose/transpose.h"
#include "delegates/cpu/packed.h"

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

cpu::ConvF32 shape_at_bounds(const Fused& f) {
  return shape_of(f, f.inputs[0].type.shape, f.inputs[1].type.shape, f.core_type.shape);
}

// Filters are rows of a product, but those of an input channel lie side by side.
bool pack(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  const Fused* const f = cpu::product_of(q);
  if (index != 0 || f == nullptr) return false;
  const cpu::ConvF32 c = shape_at_bounds(*f);
  const int64_t taps = c.kernel[0] * c.kernel[1] * c.kernel[2];
  const int64_t rows = c.out_channels / c.groups * taps, depth = c.in_channels / c.groups;
  const void* const filters = f->inputs[1].fixed(q);
  if (!cpu::offer_packed(filters, kPackedTransposed, {c.groups, c.out_channels / c.groups, taps, depth},
                         cpu::transposed_f32_packed_floats(c) * sizeof(float), out))
    return false;
  const cpu::StridedCopy turned{3, {c.groups, rows, depth}, {rows * depth, 1, rows}};
  if (to != nullptr) cpu::strided_copy(turned, sizeof(float), filters, to, parallel);
  return true;
}

int64_t scratch_bytes(const CpuQuery& q) {
  const Fused* const f = cpu::product_of(q);
  if (f == nullptr) return 0;
  return static_cast<int64_t>(cpu::conv_transpose_f32_scratch_bytes(
      shape_at_bounds(*f), q.slots, q.is_static() ? cpu::Sizes::kFixed : cpu::Sizes::kUpperBounds,
      cpu::will_be_packed(q, pack)));
}

Status run(const KernelContext& ctx, const void* state) {
  const Fused& f = static_cast<const cpu::FusedState*>(state)->fused;
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
  c.packed = static_cast<const cpu::FusedState*>(state)->packed;
  cpu::conv_transpose_f32(c, x.as<const float>(), f.inputs[1].f32(ctx), y.as<float>(), ctx.parallel,
                          ctx.scratch.data());
  return Status::kOk;
}

constexpr CpuKernel kKernel = {
    "conv_transpose_f32_nchw", sizeof(cpu::FusedState), scratch_bytes, cpu::prepare_fused<pack>, run, pack};

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
