// Conv, alone or as the core of a composite, float32, channels first or last.
#include "delegates/cpu/kernels/conv/conv.h"
#include "delegates/cpu/conv_shape.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/fused.h"
#include "delegates/cpu/kernels/conv_nhwc/conv_nhwc.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/conv/conv_generated.h"

namespace vireo {
namespace {

using cpu::ConvF32;
using cpu::Fused;
using cpu::FusedState;
using cpu::prepare_fused;

ConvF32 shape_of(const Fused& f, const Shape& x, const Shape& w, const Shape& y) {
  const auto& a = f.core_attrs<attrs::Conv>();
  ConvF32 c = cpu::conv_shape(conv_geometry(a, x, w, y), a.group());
  c.act = f.act;
  c.residual_last = f.residual_last;
  c.residual_times = f.residual_times;
  return c;
}

// Channels last: filters are columns, which a kernel wants side by side.
bool pack(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  Fused f;
  const char* reason = "";
  if (index != 0 || !cpu::read_fused(q, -1, &f, &reason)) return false;
  const ConvF32 c = shape_of(f, f.inputs[0].type.shape, f.inputs[1].type.shape, f.core_type.shape);
  const size_t bytes = static_cast<size_t>(cpu::conv_nhwc_f32_packed_floats(c)) * sizeof(float);
  const int64_t taps = c.kernel[0] * c.kernel[1] * c.kernel[2];
  if (!cpu::offer_packed(f.inputs[1].fixed(q), kPackedConvNhwcF32,
                         {c.out_channels, c.groups, c.in_channels / c.groups, taps}, bytes, out)) {
    return false;
  }
  if (to != nullptr)
    cpu::pack_conv_nhwc_f32(c, static_cast<const float*>(out->constant), parallel, static_cast<float*>(to));
  return true;
}

template <bool kLast>
int64_t scratch_bytes(const CpuQuery& q) {
  Fused f;
  const char* reason = "";
  if (!cpu::read_fused(q, kLast ? -1 : 1, &f, &reason)) return 0;
  const ConvF32 c = shape_of(f, f.inputs[0].type.shape, f.inputs[1].type.shape, f.core_type.shape);
  const cpu::Sizes sizes = q.is_static() ? cpu::Sizes::kFixed : cpu::Sizes::kUpperBounds;
  if (!kLast) return static_cast<int64_t>(cpu::conv_f32_scratch_bytes(c, q.slots, sizes));
  return static_cast<int64_t>(cpu::conv_nhwc_f32_scratch_bytes(c, q.slots, sizes, cpu::will_be_packed(q, pack)));
}

template <bool kLast>
Status run(const KernelContext& ctx, const void* state) {
  const Fused& f = static_cast<const FusedState*>(state)->fused;
  if (!cpu::fits(ctx, f))
    return ctx.fail(Status::kInvalidModel, "the value to be added has another shape than the result");
  const Tensor& x = ctx.required(static_cast<size_t>(f.inputs[0].input));
  Tensor& y = *ctx.out(0);
  ConvF32 c = shape_of(f, x.shape, f.inputs[1].shape(ctx), y.shape);
  if (f.input_count > 2 && f.inputs[2].given()) c.bias = f.inputs[2].f32(ctx);
  if (f.bias.given()) c.bias = f.bias.f32(ctx);
  if (f.residual.given()) c.residual = f.residual.f32(ctx);
  if (f.slope.given()) c.slope = f.slope.f32(ctx);
  c.packed = static_cast<const FusedState*>(state)->packed;
  if (y.count() == 0) return Status::kOk;
  const auto kernel = kLast ? cpu::conv_nhwc_f32 : cpu::conv_f32;
  kernel(c, x.as<const float>(), f.inputs[1].f32(ctx), y.as<float>(), ctx.parallel, ctx.scratch.data());
  return Status::kOk;
}

constexpr CpuKernel kConv = {"conv_f32_nchw", sizeof(FusedState), scratch_bytes<false>, prepare_fused<1, nullptr>,
                             run<false>};
constexpr CpuKernel kConvLast = {"conv_f32_nhwc",         sizeof(FusedState), scratch_bytes<true>,
                                 prepare_fused<-1, pack>, run<true>,          pack};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  Fused f;
  const auto is_last = [&] {
    return f.core == Op::kConv && static_cast<Layout>(f.core_attrs<attrs::Conv>().layout()) == Layout::kNhwc;
  };
  // Where channels are decides what in the tail is a bias.
  if (!cpu::read_fused(q, 1, &f, reason) || is_last()) {
    if (!is_last()) return nullptr;
    f = Fused();
    if (!cpu::read_fused(q, -1, &f, reason)) return nullptr;
  }
  if (f.core != Op::kConv) {
    *reason = "";
    return nullptr;
  }
  *reason = "tuned for float32 alone";
  if (f.core_type.dtype != DType::kF32 || f.inputs[0].input < 0) return nullptr;
  if (f.core_type.shape.rank < 3 || f.core_type.shape.rank > 5) return nullptr;
  *reason = "";
  return is_last() ? &kConvLast : &kConv;
}

constexpr Op kOps[] = {Op::kConv, Op::kComposite};

}  // namespace

extern const CpuOp kCpuOp_conv;
const CpuOp kCpuOp_conv = {"conv", choose, Span<const Op>(kOps)};

}  // namespace vireo
