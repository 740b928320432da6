// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear between float32 and 8 or 16 bits; DequantizeLinear of 4 or
// 8 bits in blocks of rows.
#include "delegates/cpu/kernels/quantize/quantize.h"
#include "delegates/cpu/cpu_op.h"
#include "sdk/base/requantize.h"
#include "sdk/ops/quantize/quantize_generated.h"

namespace vireo {
namespace {

using cpu::Code;
using cpu::Codes;

Code code_of(DType t) {
  switch (t) {
    case DType::kI8:
      return Code::kI8;
    case DType::kU8:
      return Code::kU8;
    case DType::kI16:
      return Code::kI16;
    case DType::kU16:
      return Code::kU16;
    default:
      return Code::kI32;
  }
}

// Parameters lie along `axis`, or are one for all.
Codes codes_of(const KernelContext& ctx, int axis_attr, DType code) {
  const Shape& x = ctx.in(0)->shape;
  Codes s;
  s.code = code_of(code);
  s.scale = ctx.in(1)->as<const float>();
  if (ctx.in(2) != nullptr && s.code != Code::kI32) s.zero_point = ctx.in(2)->data;
  if (ctx.in(1)->count() == 1) {
    s.inner = ctx.in(0)->count();
    return s;
  }
  const int axis = normalize_axis(axis_attr, x.rank);
  s.outer = product(x, 0, axis);
  s.extent = x[axis];
  s.inner = product(x, axis + 1, x.rank);
  return s;
}

Status run_quantize(const KernelContext& ctx, const void*) {
  const Codes s = codes_of(ctx, ctx.attrs<attrs::QuantizeLinear>().axis(), ctx.out(0)->dtype);
  cpu::quantize_f32(s, ctx.in(0)->as<const float>(), ctx.out(0)->data, ctx.parallel);
  return Status::kOk;
}

Status run_dequantize(const KernelContext& ctx, const void*) {
  const Codes s = codes_of(ctx, ctx.attrs<attrs::DequantizeLinear>().axis(), ctx.in(0)->dtype);
  cpu::dequantize_f32(s, ctx.in(0)->data, ctx.out(0)->as<float>(), ctx.parallel);
  return Status::kOk;
}

Status run_blocks(const KernelContext& ctx, const void*) {
  const Tensor& x = *ctx.in(0);
  cpu::BlockCodes s;
  s.columns = x.shape[x.shape.rank - 1];
  s.rows = product(x.shape, 0, x.shape.rank - 1);
  s.block = ctx.attrs<attrs::DequantizeLinear>().block_size();
  s.bits = dtype_bits(x.dtype);
  s.is_signed = dtype_is_signed(x.dtype);
  s.scale = ctx.in(1)->as<const float>();
  if (ctx.in(2) != nullptr) s.zero_point = ctx.in(2)->data;
  cpu::dequantize_blocks_f32(s, x.data, ctx.out(0)->as<float>(), ctx.parallel);
  return Status::kOk;
}

int64_t range_scratch(const CpuQuery& q) { return static_cast<int64_t>(cpu::range_f32_scratch_bytes(q.slots)); }

Status run_dynamic(const KernelContext& ctx, const void*) {
  const float* x = ctx.in(0)->as<const float>();
  const int64_t count = ctx.in(0)->count();
  float low = 0, high = 0;
  cpu::range_f32(x, count, &low, &high, ctx.parallel, ctx.scratch.data());
  const float scale = high == low ? 1.0f : (high - low) / 255.0f;
  const auto zero_point = static_cast<uint8_t>(round_and_clamp(0.0f - low / scale, 0, 0, 255));
  if (ctx.out(0) != nullptr) {
    Codes s;
    s.inner = count;
    s.scale = &scale;
    s.zero_point = &zero_point;
    cpu::quantize_f32(s, x, ctx.out(0)->data, ctx.parallel);
  }
  if (ctx.out(1) != nullptr) *ctx.out(1)->as<float>() = scale;
  if (ctx.out(2) != nullptr) *ctx.out(2)->as<uint8_t>() = zero_point;
  return Status::kOk;
}

constexpr CpuKernel kQuantize = {"quantize_f32", 0, nullptr, nullptr, run_quantize};
constexpr CpuKernel kDequantize = {"dequantize_f32", 0, nullptr, nullptr, run_dequantize};
constexpr CpuKernel kBlocks = {"dequantize_blocks_f32", 0, nullptr, nullptr, run_blocks};
constexpr CpuKernel kDynamic = {"dynamic_quantize_f32", 0, range_scratch, nullptr, run_dynamic};

bool is_code(DType t) { return code_of(t) != Code::kI32; }

// int32 is dequantized without a zero point: ONNX wants it to be 0 there, and differences could leave int32.
bool no_zero_point(const GraphValue& z) {
  if (z.type.dtype == DType::kNone) return true;
  if (z.constant == nullptr || z.type.dtype != DType::kI32) return false;
  for (int64_t i = 0; i < product(z.type.shape, 0, z.type.shape.rank); ++i) {
    if (z.as<int32_t>()[i] != 0) return false;
  }
  return true;
}

// Codes of 4 or 8 bits to float32, in blocks along the last axis.
bool has_blocks_of_rows(const CpuQuery& q) {
  const auto& a = q.attrs<attrs::DequantizeLinear>();
  const TensorType& x = q.inputs[0].type;
  const int bits = dtype_bits(x.dtype);
  return a.block_size() > 0 && x.shape.rank > 0 && normalize_axis(a.axis(), x.shape.rank) == x.shape.rank - 1 &&
         dtype_is_integer(x.dtype) && (bits == 4 || bits == 8) && q.outputs[0].type.dtype == DType::kF32;
}

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "tuned between float32 and 8 or 16 bits, and from 4 bits in blocks of rows";
  const DType x = q.inputs[0].type.dtype, y = q.outputs[0].type.dtype;
  if (q.op == Op::kDynamicQuantizeLinear) {
    *reason = "";
    return &kDynamic;
  }
  if (q.input_count < 2 || q.inputs[1].type.dtype != DType::kF32) return nullptr;
  if (q.op == Op::kQuantizeLinear) {
    const auto& a = q.attrs<attrs::QuantizeLinear>();
    const auto precision = static_cast<DType>(a.precision());
    if (x != DType::kF32 || !is_code(y) || (precision != DType::kNone && precision != DType::kF32)) return nullptr;
    *reason = "tuned for scales of a tensor or an axis, not of blocks";
    if (a.block_size() != 0) return nullptr;
    *reason = "";
    return &kQuantize;
  }
  if (has_blocks_of_rows(q)) {
    *reason = "";
    return &kBlocks;
  }
  if (y != DType::kF32 || (!is_code(x) && x != DType::kI32)) return nullptr;
  *reason = "tuned for int32 without a zero point";
  if (x == DType::kI32 && q.input_count > 2 && !no_zero_point(q.inputs[2])) return nullptr;
  *reason = "tuned for scales of a tensor, an axis or blocks of the last one";
  if (q.attrs<attrs::DequantizeLinear>().block_size() != 0) return nullptr;
  *reason = "";
  return &kDequantize;
}

}  // namespace

extern const CpuOp kCpuOp_quantize;
const CpuOp kCpuOp_quantize = {"quantize", choose};

}  // namespace vireo
