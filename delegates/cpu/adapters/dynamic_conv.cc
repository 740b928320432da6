// The composite "dynamic_conv": ConvInteger, its sums as float32 times a scale, a bias and an activation. A channel's
// sums are scaled, biased and activated in one visit, in the memory of the result; the numbers are those of the body.
#include <new>

#include "delegates/cpu/conv_shape.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/forms.h"
#include "delegates/cpu/kernels/activation/activation.h"
#include "delegates/cpu/kernels/intgemm/intgemm.h"
#include "delegates/cpu/kernels/quantize/quantize.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/conv_integer/conv_integer_generated.h"

namespace vireo {
namespace {

using cpu::ConvI8;
using cpu::FusedDynamic;

const attrs::ConvInteger& attributes_of(const FusedDynamic& f) { return f.conv<attrs::ConvInteger>(); }

ConvI8 conv_of(const FusedDynamic& f, const Shape& x, const Shape& w, const Shape& y) {
  ConvI8 c;
  c.shape = cpu::conv_shape(conv_geometry(attributes_of(f), x, w, y), attributes_of(f).group());
  return c;
}

int64_t scratch_bytes(const CpuQuery& q) {
  const FusedDynamic& f = *cpu::dynamic_of(q);  // the kernel was chosen for it
  return static_cast<int64_t>(cpu::conv_i8_scratch_bytes(
      conv_of(f, q.inputs[f.x].type.shape, q.inputs[f.w].type.shape, q.outputs[0].type.shape), false, q.slots));
}

void prepare(const CpuQuery& q, void* state) { new (state) FusedDynamic(*cpu::dynamic_of(q)); }

Status run(const KernelContext& ctx, const void* state) {
  const auto& f = *static_cast<const FusedDynamic*>(state);
  const auto given = [&](int32_t i) { return i < 0 ? nullptr : &ctx.required(static_cast<size_t>(i)); };
  const Tensor &x = *given(f.x), &w = *given(f.w);
  Tensor& y = *ctx.out(0);
  if (!composites::fits(ctx, f)) return ctx.fail(Status::kInvalidModel, "the sums have another shape than the result");
  if (y.count() == 0) return Status::kOk;
  ConvI8 c = conv_of(f, x.shape, w.shape, y.shape);
  c.x_signed = x.dtype == DType::kI8;
  c.w_signed = w.dtype == DType::kI8;
  if (f.x_zero >= 0) c.x_zero = given(f.x_zero)->data;
  if (f.w_zero >= 0) c.w_zero = given(f.w_zero)->data;
  c.w_zero_per_channel = f.w_zero >= 0 && given(f.w_zero)->count() != 1;
  cpu::conv_i8(c, x.data, w.data, y.data, ctx.parallel, ctx.scratch.data());  // sums lie where the result will

  const int64_t channels = y.shape[1], area = product(y.shape, 2, y.shape.rank);
  // Element `channel` of what is one a channel or one for all.
  const auto at = [](const Tensor* t, int64_t channel) {
    return t->as<const float>() + (t->count() == 1 ? 0 : channel);
  };
  const Tensor *scale = given(f.scale), *other = given(f.other_scale), *bias = given(f.bias), *slope = given(f.slope);
  ctx.parallel.for_range(y.shape[0] * channels, 16384 / area + 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t channel = plane % channels;
      const float factor = *at(scale, channel) * (other == nullptr ? 1 : *at(other, channel));
      float* const row = y.as<float>() + plane * area;
      cpu::Codes codes;
      codes.inner = area;
      codes.code = cpu::Code::kI32;
      codes.scale = &factor;
      cpu::dequantize_f32(codes, row, row, Parallel{});
      cpu::RowFinish finish;
      finish.row_bias = bias == nullptr ? 0 : *at(bias, channel);
      finish.f = cpu::activation_of_row(f.act, slope == nullptr ? nullptr : at(slope, channel));
      cpu::finish_row_f32(row, area, finish);
    }
  });
  return Status::kOk;
}

constexpr CpuKernel kKernel = {"dynamic_conv_f32_nchw", sizeof(FusedDynamic), scratch_bytes, prepare, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "its body is not an integer convolution, a scale, a bias and an activation";
  const FusedDynamic* const f = cpu::dynamic_of(q);
  if (f == nullptr || f->core != Op::kConvInteger) return nullptr;
  *reason = "tuned for NCHW alone";
  const TensorType& y = q.outputs[0].type;
  if (attributes_of(*f).layout() != 0 || y.dtype != DType::kF32 || y.shape.rank < 3 || y.shape.rank > 5) return nullptr;
  *reason = "";
  return &kKernel;
}

}  // namespace

extern const CpuOp kCpuOp_dynamic_conv;
const CpuOp kCpuOp_dynamic_conv = {"dynamic_conv", choose};

}  // namespace vireo
