// Conv, alone or as the core of a composite, float32, channels first or last.
#include "delegates/cpu/kernels/conv/conv.h"
#include "delegates/cpu/conv_shape.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/forms.h"
#include "delegates/cpu/kernels/conv_nhwc/conv_nhwc.h"
#include "delegates/cpu/kernels/winograd/winograd.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/conv/conv_generated.h"

namespace vireo {
namespace {

using composites::Stored;
using cpu::ConvF32;
using cpu::Fused;
using cpu::FusedState;

ConvF32 shape_of(const Fused& f, const Shape& x, const Shape& w, const Shape& y) {
  const auto& a = f.core_attrs<attrs::Conv>();
  ConvF32 c = cpu::conv_shape(conv_geometry(a, x, w, y), a.group());
  c.act = f.act;
  c.residual_last = f.residual_last;
  c.residual_times = f.residual_times;
  return c;
}

ConvF32 shape_at_bounds(const Fused& f) {
  return shape_of(f, f.inputs[0].type.shape, f.inputs[1].type.shape, f.core_type.shape);
}

// How a kernel goes about it. Winograd's filters are transformed ahead: where the host keeps no packed constants, these
// kernels are the direct one.
enum How { kFirst, kLast, kWinograd2, kWinograd4 };
constexpr int32_t tile_of(How how) { return how == kWinograd2 ? 2 : how == kWinograd4 ? 4 : 0; }

// Channels last: filters are columns, which a kernel wants side by side.
template <How kHow>
bool pack(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  const Fused* const f = cpu::product_of(q);
  if (index != 0 || f == nullptr) return false;
  const ConvF32 c = shape_at_bounds(*f);
  const void* const filters = f->inputs[1].fixed(q);
  constexpr int32_t kTile = tile_of(kHow);
  if constexpr (kTile != 0) {
    const size_t bytes = static_cast<size_t>(cpu::winograd_f32_packed_floats(c, kTile)) * sizeof(float);
    if (!cpu::offer_packed(filters, kPackedWinogradF32, {c.out_channels, c.in_channels, kTile, 0}, bytes, out))
      return false;
    if (to != nullptr)
      cpu::pack_winograd_f32(c, kTile, static_cast<const float*>(filters), parallel, static_cast<float*>(to));
    return true;
  }
  const size_t bytes = static_cast<size_t>(cpu::conv_nhwc_f32_packed_floats(c)) * sizeof(float);
  const int64_t taps = c.kernel[0] * c.kernel[1] * c.kernel[2];
  if (!cpu::offer_packed(filters, kPackedConvNhwcF32, {c.out_channels, c.groups, c.in_channels / c.groups, taps}, bytes,
                         out)) {
    return false;
  }
  if (to != nullptr) cpu::pack_conv_nhwc_f32(c, static_cast<const float*>(filters), parallel, static_cast<float*>(to));
  return true;
}

template <How kHow>
int64_t scratch_bytes(const CpuQuery& q) {
  const Fused* const f = cpu::product_of(q);
  if (f == nullptr) return 0;
  const ConvF32 c = shape_at_bounds(*f);
  const cpu::Sizes sizes = q.is_static() ? cpu::Sizes::kFixed : cpu::Sizes::kUpperBounds;
  const bool packed = kHow != kFirst && cpu::will_be_packed(q, pack<kHow>);
  if (tile_of(kHow) != 0 && packed)
    return static_cast<int64_t>(cpu::winograd_f32_scratch_bytes(c, tile_of(kHow), q.slots, sizes));
  size_t most = 0;
  const auto add = [&](const ConvF32& s) {
    const size_t bytes = kHow == kFirst ? cpu::conv_f32_scratch_bytes(s, q.slots, sizes)
                                        : cpu::conv_nhwc_f32_scratch_bytes(s, q.slots, sizes, packed);
    most = most > bytes ? most : bytes;
  };
  add(c);
  if (f->inputs[1].is_static(q)) return static_cast<int64_t>(most);
  // Filters that vary go other ways where they come to one tap, or to one channel a group.
  ConvF32 tap = c, planes = c;
  for (int i = 0; i < 3; ++i) {
    tap.in[i] = c.out[i];
    tap.kernel[i] = 1;
    tap.pad[i] = 0;
  }
  add(tap);
  planes.in_channels = c.groups;
  planes.in[0] = c.out[0];
  planes.kernel[0] = 1;
  planes.pad[0] = 0;
  add(planes);
  return static_cast<int64_t>(most);
}

template <How kHow>
Status run(const KernelContext& ctx, const void* state) {
  const Fused& f = static_cast<const FusedState*>(state)->fused;
  if (!composites::fits(ctx, f))
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
  if (tile_of(kHow) != 0 && c.packed != nullptr) {
    cpu::winograd_f32(c, tile_of(kHow), x.as<const float>(), y.as<float>(), ctx.parallel, ctx.scratch.data());
    return Status::kOk;
  }
  const auto kernel = kHow == kFirst ? cpu::conv_f32 : cpu::conv_nhwc_f32;
  kernel(c, x.as<const float>(), f.inputs[1].f32(ctx), y.as<float>(), ctx.parallel, ctx.scratch.data());
  return Status::kOk;
}

template <How kHow>
constexpr CpuKernel kernel_of(const char* name) {
  constexpr cpu::PackConstant kPack = kHow == kFirst ? nullptr : pack<kHow>;
  return {name, sizeof(FusedState), scratch_bytes<kHow>, cpu::prepare_fused<kPack>, run<kHow>, kPack};
}
constexpr CpuKernel kConv = kernel_of<kFirst>("conv_f32_nchw");
constexpr CpuKernel kConvLast = kernel_of<kLast>("conv_f32_nhwc");
constexpr CpuKernel kConvWinograd2 = kernel_of<kWinograd2>("conv_f32_winograd_2x2");
constexpr CpuKernel kConvWinograd4 = kernel_of<kWinograd4>("conv_f32_winograd");

bool is_last(const Fused& f) { return static_cast<Layout>(f.core_attrs<attrs::Conv>().layout()) == Layout::kNhwc; }

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const Fused* const found = cpu::product_of(q);
  *reason = "";  // another body is another kernel's
  if (found == nullptr || found->core != Op::kConv || found->stored != Stored::kPlain) return nullptr;
  const Fused& f = *found;
  *reason = "tuned for float32 alone";
  if (f.core_type.dtype != DType::kF32 || f.inputs[0].input < 0) return nullptr;
  if (f.core_type.shape.rank < 3 || f.core_type.shape.rank > 5) return nullptr;
  *reason = "";
  if (!is_last(f)) return &kConv;
  const int32_t tile = f.inputs[1].fixed(q) != nullptr ? cpu::winograd_f32_best(shape_at_bounds(f)) : 0;
  return tile == 4 ? &kConvWinograd4 : tile == 2 ? &kConvWinograd2 : &kConvLast;
}

// Where channels are last, three kernels may serve: by rates that were measured elsewhere the first is likely the best.
const CpuKernel* alternative(const CpuQuery& q, uint32_t index) {
  constexpr struct {
    const CpuKernel* kernel;
    int32_t tile;
  } kWays[] = {{&kConvLast, 0}, {&kConvWinograd4, 4}, {&kConvWinograd2, 2}};
  const Fused* const f = cpu::product_of(q);
  if (f == nullptr || !is_last(*f) || f->inputs[1].fixed(q) == nullptr) return nullptr;
  const ConvF32 c = shape_at_bounds(*f);
  for (const auto& way : kWays) {
    if (way.tile != 0 && cpu::winograd_f32_packed_floats(c, way.tile) == 0) continue;
    if (index-- == 0) return way.kernel;
  }
  return nullptr;
}

}  // namespace

extern const CpuOp kCpuOp_conv;
const CpuOp kCpuOp_conv = {"conv", choose, false, alternative};

}  // namespace vireo
