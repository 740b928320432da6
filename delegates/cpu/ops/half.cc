// float16: Conv in NCHW and elementwise functions, computed in float32 and rounded once.
#include "delegates/cpu/kernels/half/half.h"
#include "delegates/cpu/conv_shape.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/fused.h"
#include "delegates/cpu/kernels/conv/conv.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/conv/conv_generated.h"

namespace vireo {
namespace {

using cpu::ConvF32;

int64_t count_of(const Shape& s) { return product(s, 0, s.rank); }
int64_t floats(int64_t count) { return (count * static_cast<int64_t>(sizeof(float)) + 63) / 64 * 64; }

ConvF32 shape_of(const attrs::Conv& a, const Shape& x, const Shape& w, const Shape& y) {
  return cpu::conv_shape(conv_geometry(a, x, w, y), a.group());
}

// Operands and result as float32, then the convolution's own.
int64_t conv_scratch(const CpuQuery& q) {
  const Shape &x = q.inputs[0].type.shape, &w = q.inputs[1].type.shape, &y = q.outputs[0].type.shape;
  const ConvF32 c = shape_of(q.attrs<attrs::Conv>(), x, w, y);
  return floats(count_of(x)) + floats(count_of(w)) + floats(w[0]) + floats(count_of(y)) +
         static_cast<int64_t>(
             cpu::conv_f32_scratch_bytes(c, q.slots, q.is_static() ? cpu::Sizes::kFixed : cpu::Sizes::kUpperBounds));
}

Status run_conv(const KernelContext& ctx, const void*) {
  const Tensor &x = *ctx.in(0), &w = *ctx.in(1);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  uint8_t* room = ctx.scratch.data();
  const auto take = [&](int64_t count) {
    float* const at = reinterpret_cast<float*>(room);
    room += floats(count);
    return at;
  };
  float* const xf = take(x.count());
  float* const wf = take(w.count());
  float* const bias = take(w.shape[0]);
  float* const yf = take(y.count());
  ConvF32 c = shape_of(ctx.attrs<attrs::Conv>(), x.shape, w.shape, y.shape);
  cpu::f32_from_f16(x.as<const uint16_t>(), xf, x.count(), ctx.parallel);
  cpu::f32_from_f16(w.as<const uint16_t>(), wf, w.count(), ctx.parallel);
  if (ctx.in(2) != nullptr) {
    cpu::f32_from_f16(ctx.in(2)->as<const uint16_t>(), bias, ctx.in(2)->count(), ctx.parallel);
    c.bias = bias;
  }
  cpu::conv_f32(c, xf, wf, yf, ctx.parallel, room);
  cpu::f16_from_f32(yf, y.as<uint16_t>(), y.count(), ctx.parallel);
  return Status::kOk;
}

void prepare_activation(const CpuQuery& q, void* state) {
  (void)cpu::read_activation(*q.host, q.graph, q.node, new (state) cpu::Activate());
}

Status run_activation(const KernelContext& ctx, const void* state) {
  constexpr int64_t kChunk = 1024;  // 4 KiB of stack
  const auto& f = *static_cast<const cpu::Activate*>(state);
  const uint16_t* const x = ctx.in(0)->as<const uint16_t>();
  uint16_t* const y = ctx.out(0)->as<uint16_t>();
  ctx.parallel.for_range(ctx.in(0)->count(), 32 * kChunk, [&](int64_t begin, int64_t end, int32_t) {
    float wide[kChunk];
    for (int64_t i = begin; i < end; i += kChunk) {
      const int64_t count = end - i < kChunk ? end - i : kChunk;
      cpu::f32_from_f16(x + i, wide, count, Parallel{});
      cpu::activate_f32(wide, wide, count, f, Parallel{});
      cpu::f16_from_f32(wide, y + i, count, Parallel{});
    }
  });
  return Status::kOk;
}

constexpr CpuKernel kConv = {"conv_f16_nchw", 0, conv_scratch, nullptr, run_conv};
constexpr CpuKernel kActivation = {"activate_f16", sizeof(cpu::Activate), nullptr, prepare_activation, run_activation};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const TensorType& x = q.inputs[0].type;
  *reason = "tuned for float32 and float16";
  if (x.dtype != DType::kF16) return nullptr;
  if (q.op == Op::kConv) {
    *reason = "tuned for NCHW alone";
    if (q.attrs<attrs::Conv>().layout() != 0 || x.shape.rank < 3 || x.shape.rank > 5) return nullptr;
    *reason = "";
    return &kConv;
  }
  cpu::Activate a;
  *reason = "tuned for constant limits alone";
  if (!cpu::read_activation(*q.host, q.graph, q.node, &a)) return nullptr;
  *reason = "";
  return &kActivation;
}

constexpr Op kOps[] = {Op::kConv, Op::kRelu,      Op::kSigmoid, Op::kTanh, Op::kHardSigmoid, Op::kHardSwish,
                       Op::kGelu, Op::kLeakyRelu, Op::kSwish,   Op::kElu,  Op::kSoftplus,    Op::kMish};

}  // namespace

extern const CpuOp kCpuOp_half;
const CpuOp kCpuOp_half = {"half", choose, Span<const Op>(kOps)};

}  // namespace vireo
