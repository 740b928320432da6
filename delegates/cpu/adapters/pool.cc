// Max and average pooling, over windows and global, float32, and the maximum of bytes; both layouts.
#include "delegates/cpu/kernels/pool/pool.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/pool_i8/pool_i8.h"
#include "delegates/cpu/kernels/pool_nhwc/pool_nhwc.h"
#include "delegates/cpu/kernels/pool_nhwc_i8/pool_nhwc_i8.h"
#include "delegates/cpu/pool_shape.h"
#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/pool/pool_generated.h"

namespace vireo {
namespace {

cpu::PoolF32 shape_of(const attrs::Pool& a, bool is_max, const Shape& x, const Shape& y) {
  auto p = cpu::pool_shape<cpu::PoolF32>(a, x, y);
  p.kind = is_max                  ? cpu::PoolKind::kMax
           : a.count_include_pad() ? cpu::PoolKind::kAverageWithPad
                                   : cpu::PoolKind::kAverage;
  return p;
}

int64_t scratch_bytes(const CpuQuery& q) {
  const cpu::PoolF32 p =
      shape_of(q.attrs<attrs::Pool>(), q.op == Op::kMaxPool, q.inputs[0].type.shape, q.outputs[0].type.shape);
  return static_cast<int64_t>(cpu::pool_f32_scratch_bytes(p, q.slots));
}

template <bool kIsMax>
Status run(const KernelContext& ctx, const void*) {
  const cpu::PoolF32 p = shape_of(ctx.attrs<attrs::Pool>(), kIsMax, ctx.in(0)->shape, ctx.out(0)->shape);
  cpu::pool_f32(p, ctx.in(0)->as<const float>(), ctx.out(0)->as<float>(), ctx.parallel, ctx.scratch.data());
  return Status::kOk;
}

template <bool kIsMax>
Status run_last(const KernelContext& ctx, const void*) {
  const Shape& x = ctx.in(0)->shape;
  const cpu::PoolF32 p = shape_of(ctx.attrs<attrs::Pool>(), kIsMax, x, ctx.out(0)->shape);
  cpu::pool_nhwc_f32(p, x[x.rank - 1], ctx.in(0)->as<const float>(), ctx.out(0)->as<float>(), ctx.parallel);
  return Status::kOk;
}

// The maximum of bytes is one of them.
cpu::PoolI8 bytes_of(const cpu::PoolF32& f) {
  cpu::PoolI8 p;
  p.planes = f.planes;
  p.window = f.window;
  return p;
}
int64_t bytes_scratch(const CpuQuery& q) {
  const cpu::PoolF32 p = shape_of(q.attrs<attrs::Pool>(), true, q.inputs[0].type.shape, q.outputs[0].type.shape);
  return static_cast<int64_t>(cpu::pool_i8_scratch_bytes(bytes_of(p), q.slots));
}
template <bool kLast>
Status run_bytes(const KernelContext& ctx, const void*) {
  const Shape& x = ctx.in(0)->shape;
  cpu::PoolI8 p = bytes_of(shape_of(ctx.attrs<attrs::Pool>(), true, x, ctx.out(0)->shape));
  p.x_signed = ctx.in(0)->dtype == DType::kI8;
  const auto* from = ctx.in(0)->as<const uint8_t>();
  auto* const to = ctx.out(0)->as<uint8_t>();
  if constexpr (kLast) {
    cpu::pool_nhwc_i8(p, x[x.rank - 1], from, to, ctx.parallel);
  } else {
    cpu::pool_i8(p, from, to, ctx.parallel, ctx.scratch.data());
  }
  return Status::kOk;
}

template <bool kIsMax>
Status run_global(const KernelContext& ctx, const void*) {
  const Shape& s = ctx.in(0)->shape;
  const auto kernel = kIsMax ? cpu::global_max_f32 : cpu::global_average_f32;
  kernel(ctx.in(0)->as<const float>(), ctx.out(0)->as<float>(), s[0] * s[1], product(s, 2, s.rank), ctx.parallel);
  return Status::kOk;
}

template <bool kIsMax>
Status run_global_last(const KernelContext& ctx, const void*) {
  const Shape& s = ctx.in(0)->shape;
  const auto kernel = kIsMax ? cpu::global_max_nhwc_f32 : cpu::global_average_nhwc_f32;
  kernel(ctx.in(0)->as<const float>(), ctx.out(0)->as<float>(), s[0], product(s, 1, s.rank - 1), s[s.rank - 1],
         ctx.parallel);
  return Status::kOk;
}

Status run_max_half(const KernelContext& ctx, const void*) {
  const Shape& x = ctx.in(0)->shape;
  const cpu::PoolF32 p = shape_of(ctx.attrs<attrs::Pool>(), true, x, ctx.out(0)->shape);
  cpu::pool_nhwc_bf16(p, x[x.rank - 1], ctx.in(0)->as<const uint16_t>(), ctx.out(0)->as<uint16_t>(), ctx.parallel);
  return Status::kOk;
}
Status run_average_half(const KernelContext& ctx, const void*) {
  const Shape& s = ctx.in(0)->shape;
  cpu::global_average_nhwc_bf16(ctx.in(0)->as<const uint16_t>(), ctx.out(0)->as<uint16_t>(), s[0],
                                product(s, 1, s.rank - 1), s[s.rank - 1], ctx.parallel);
  return Status::kOk;
}

constexpr CpuKernel kMaxPoolHalf = {"max_pool_bf16_nhwc", 0, nullptr, nullptr, run_max_half};
constexpr CpuKernel kGlobalAverageHalf = {"global_average_bf16_nhwc", 0, nullptr, nullptr, run_average_half};
constexpr CpuKernel kMaxPool = {"max_pool_f32_nchw", 0, scratch_bytes, nullptr, run<true>};
constexpr CpuKernel kMaxPoolBytes = {"max_pool_i8_nchw", 0, bytes_scratch, nullptr, run_bytes<false>};
constexpr CpuKernel kMaxPoolBytesLast = {"max_pool_i8_nhwc", 0, nullptr, nullptr, run_bytes<true>};
constexpr CpuKernel kAveragePool = {"average_pool_f32_nchw", 0, scratch_bytes, nullptr, run<false>};
constexpr CpuKernel kGlobalMax = {"global_max_f32_nchw", 0, nullptr, nullptr, run_global<true>};
constexpr CpuKernel kGlobalAverage = {"global_average_f32_nchw", 0, nullptr, nullptr, run_global<false>};
constexpr CpuKernel kMaxPoolLast = {"max_pool_f32_nhwc", 0, nullptr, nullptr, run_last<true>};
constexpr CpuKernel kAveragePoolLast = {"average_pool_f32_nhwc", 0, nullptr, nullptr, run_last<false>};
constexpr CpuKernel kGlobalMaxLast = {"global_max_f32_nhwc", 0, nullptr, nullptr, run_global_last<true>};
constexpr CpuKernel kGlobalAverageLast = {"global_average_f32_nhwc", 0, nullptr, nullptr, run_global_last<false>};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const bool global = q.op == Op::kGlobalMaxPool || q.op == Op::kGlobalAveragePool;
  const bool is_max = q.op == Op::kGlobalMaxPool || q.op == Op::kMaxPool;
  *reason =
      "tuned for float32, the maximum of bytes and, channels last, the maximum and the global average of bfloat16, in "
      "one or two spatial dimensions";
  const DType type = q.inputs[0].type.dtype;
  const bool bytes = q.op == Op::kMaxPool && (type == DType::kI8 || type == DType::kU8);
  const bool half = type == DType::kBF16 && (q.op == Op::kMaxPool || q.op == Op::kGlobalAveragePool) &&
                    (global ? q.attrs<attrs::GlobalPool>().layout() : q.attrs<attrs::Pool>().layout()) != 0;
  if (type != DType::kF32 && !bytes && !half) return nullptr;
  if (half && global) {
    *reason = "";
    return &kGlobalAverageHalf;
  }
  if (global) {
    *reason = "";
    if (q.attrs<attrs::GlobalPool>().layout() != 0) return is_max ? &kGlobalMaxLast : &kGlobalAverageLast;
    return is_max ? &kGlobalMax : &kGlobalAverage;
  }
  const bool last = q.attrs<attrs::Pool>().layout() != 0;
  if (q.inputs[0].type.shape.rank > 4) return nullptr;
  *reason = "tuned for the values alone, without their indices";
  if (q.outputs[0].type.dtype != type || (q.output_count > 1 && q.outputs[1].type.dtype != DType::kNone))
    return nullptr;
  *reason = "";
  if (half) return &kMaxPoolHalf;
  if (bytes) return last ? &kMaxPoolBytesLast : &kMaxPoolBytes;
  if (last) return is_max ? &kMaxPoolLast : &kAveragePoolLast;
  return is_max ? &kMaxPool : &kAveragePool;
}

}  // namespace

extern const CpuOp kCpuOp_pool;
const CpuOp kCpuOp_pool = {"pool", choose};

}  // namespace vireo
