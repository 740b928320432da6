// 8-bit products with exact sums: MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv.
#include "delegates/cpu/conv_shape.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/gemm_i8_shape.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/conv_integer/conv_integer_generated.h"

namespace vireo {
namespace {

using cpu::ConvI8;
using cpu::GemmI8;
using cpu::Requantize;

// Where the quantised form has its inputs, and the plain one. -1: it has none.
struct Inputs {
  int a, b, a_zero, b_zero, a_scale, b_scale, y_scale, y_zero, bias;
};
constexpr Inputs kPlain = {0, 1, 2, 3, -1, -1, -1, -1, -1};
constexpr Inputs kQuantised = {0, 3, 2, 5, 1, 4, 6, 7, 8};
Inputs inputs_of(Op op) { return op == Op::kMatMulInteger || op == Op::kConvInteger ? kPlain : kQuantised; }
bool quantised(const Inputs& in) { return in.y_scale >= 0; }

int64_t count_of(const Shape& s) { return product(s, 0, s.rank); }
size_t factors_bytes(int64_t count) { return (static_cast<size_t>(count) * sizeof(float) + 63) & ~size_t{63}; }

const Tensor* maybe(const KernelContext& ctx, int i) { return i < 0 ? nullptr : ctx.in(static_cast<size_t>(i)); }

int32_t byte_of(const Tensor& t) { return t.dtype == DType::kI8 ? *t.as<const int8_t>() : *t.as<const uint8_t>(); }

// One factor for each of b's scales, in float32 and in the order of sdk/ops, at the beginning of the scratch memory.
Requantize finish_of(const KernelContext& ctx, const Inputs& in) {
  const Tensor& scales = *maybe(ctx, in.b_scale);
  const float a_scale = *maybe(ctx, in.a_scale)->as<const float>(),
              y_scale = *maybe(ctx, in.y_scale)->as<const float>();
  float* const factors = reinterpret_cast<float*>(ctx.scratch.data());
  for (int64_t i = 0; i < scales.count(); ++i) factors[i] = a_scale * scales.as<const float>()[i] / y_scale;
  Requantize r;
  r.multiplier = factors;
  r.is_signed = ctx.out(0)->dtype == DType::kI8;
  r.zero_point = byte_of(*maybe(ctx, in.y_zero));
  return r;
}

// ---- Matrix products

int64_t matmul_scratch(const CpuQuery& q) {
  const Inputs in = inputs_of(q.op);
  const Shape &a = q.inputs[in.a].type.shape, &b = q.inputs[in.b].type.shape;
  GemmI8 g;
  g.k = a[a.rank - 1];
  g.n = b.rank >= 2 ? b[b.rank - 1] : 1;
  g.m = product(a, 0, a.rank - 1);  // not count / k: k may be 0
  const size_t factors = quantised(in) ? factors_bytes(count_of(q.inputs[in.b_scale].type.shape)) : 0;
  return static_cast<int64_t>(factors + cpu::gemm_i8_scratch_bytes(g, quantised(in), q.slots));
}

bool pack_matmul(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  const Inputs in = inputs_of(q.op);
  return index == 0 &&
         cpu::pack_constant_i8(q, static_cast<uint32_t>(in.a), static_cast<uint32_t>(in.b), parallel, out, to);
}
void prepare_matmul(const CpuQuery& q, void* state) { cpu::prepare_packed_i8(q, pack_matmul, state); }

Status run_matmul(const KernelContext& ctx, const Inputs& in, const void* state) {
  const Tensor &a = *maybe(ctx, in.a), &b = *maybe(ctx, in.b);
  const Tensor *az = maybe(ctx, in.a_zero), *bz = maybe(ctx, in.b_zero);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  const MatmulShape s = matmul_shape(a.shape, b.shape, y.shape);
  Requantize finish;
  size_t used = 0;
  GemmI8 g = cpu::gemm_i8_shape(s, a, b);
  if (quantised(in)) {
    finish = finish_of(ctx, in);
    finish.multiplier_per_column = maybe(ctx, in.b_scale)->count() != 1;
    used = factors_bytes(maybe(ctx, in.b_scale)->count());
    g.finish = &finish;
  }
  g.a_zero = az != nullptr ? az->data : nullptr;
  g.b_zero = bz != nullptr ? bz->data : nullptr;
  g.packed = static_cast<const cpu::PackedI8*>(state)->data;
  g.a_zero_per_row = az != nullptr && az->count() != 1;
  g.b_zero_per_column = bz != nullptr && bz->count() != 1;
  int64_t batch = s.batch;
  bool b_shared = true;
  for (int i = 0; i < s.rank; ++i) b_shared = b_shared && s.b_step[i] == 0;
  if (b_shared && !g.a_zero_per_row && a.count() == batch * s.m * s.k) {  // one product with more rows
    g.m *= batch;
    batch = 1;
  }
  const int64_t unit = quantised(in) ? 1 : static_cast<int64_t>(sizeof(int32_t));
  for (int64_t i = 0; i < batch; ++i) {
    int64_t a_at = 0, b_at = 0;
    s.offsets(i, &a_at, &b_at);
    cpu::gemm_i8(g, a.as<const uint8_t>() + a_at, b.as<const uint8_t>() + b_at, y.as<uint8_t>() + i * g.m * g.n * unit,
                 ctx.parallel, ctx.scratch.data() + used);
  }
  return Status::kOk;
}
Status run_matmul_integer(const KernelContext& ctx, const void* state) { return run_matmul(ctx, kPlain, state); }
Status run_qlinear_matmul(const KernelContext& ctx, const void* state) { return run_matmul(ctx, kQuantised, state); }

// ---- Convolutions

cpu::ConvF32 conv_shape(const attrs::ConvInteger& a, const Shape& x, const Shape& w, const Shape& y) {
  return cpu::conv_shape(conv_geometry(a, x, w, y), a.group());
}

int64_t conv_scratch(const CpuQuery& q) {
  const Inputs in = inputs_of(q.op);
  ConvI8 c;
  c.shape = conv_shape(q.attrs<attrs::ConvInteger>(), q.inputs[in.a].type.shape, q.inputs[in.b].type.shape,
                       q.outputs[0].type.shape);
  const size_t factors = quantised(in) ? factors_bytes(count_of(q.inputs[in.b_scale].type.shape)) : 0;
  return static_cast<int64_t>(factors + cpu::conv_i8_scratch_bytes(c, quantised(in), q.slots));
}

Status run_conv(const KernelContext& ctx, const Inputs& in) {
  const Tensor &x = *maybe(ctx, in.a), &w = *maybe(ctx, in.b);
  const Tensor *xz = maybe(ctx, in.a_zero), *wz = maybe(ctx, in.b_zero), *bias = maybe(ctx, in.bias);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  ConvI8 c;
  c.shape = conv_shape(ctx.attrs<attrs::ConvInteger>(), x.shape, w.shape, y.shape);
  Requantize finish;
  size_t used = 0;
  if (quantised(in)) {
    finish = finish_of(ctx, in);
    finish.multiplier_per_row = maybe(ctx, in.b_scale)->count() != 1;
    finish.bias = bias != nullptr ? bias->as<const int32_t>() : nullptr;
    used = factors_bytes(maybe(ctx, in.b_scale)->count());
    c.finish = &finish;
  }
  c.x_signed = x.dtype == DType::kI8;
  c.w_signed = w.dtype == DType::kI8;
  c.x_zero = xz != nullptr ? xz->data : nullptr;
  c.w_zero = wz != nullptr ? wz->data : nullptr;
  c.w_zero_per_channel = wz != nullptr && wz->count() != 1;
  cpu::conv_i8(c, x.data, w.data, y.data, ctx.parallel, ctx.scratch.data() + used);
  return Status::kOk;
}
Status run_conv_integer(const KernelContext& ctx, const void*) { return run_conv(ctx, kPlain); }
Status run_qlinear_conv(const KernelContext& ctx, const void*) { return run_conv(ctx, kQuantised); }

constexpr CpuKernel kMatMulInteger = {"gemm_i8i8i32", sizeof(cpu::PackedI8), matmul_scratch,
                                      prepare_matmul, run_matmul_integer,    pack_matmul};
constexpr CpuKernel kQLinearMatMul = {"gemm_i8i8i8",  sizeof(cpu::PackedI8), matmul_scratch,
                                      prepare_matmul, run_qlinear_matmul,    pack_matmul};
constexpr CpuKernel kConvInteger = {"conv_i8i8i32_nchw", 0, conv_scratch, nullptr, run_conv_integer};
constexpr CpuKernel kQLinearConv = {"conv_i8i8i8_nchw", 0, conv_scratch, nullptr, run_qlinear_conv};

bool is_one(const CpuQuery& q, int i) {
  return i < 0 || static_cast<uint32_t>(i) >= q.input_count || q.inputs[i].type.dtype == DType::kNone ||
         count_of(q.inputs[i].type.shape) == 1;
}
bool is_row(const CpuQuery& q, int i) { return is_one(q, i) || q.inputs[i].type.shape.rank == 1; }

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const Inputs in = inputs_of(q.op);
  if (quantised(in)) {
    *reason = "tuned for scales in float32";
    for (const int i : {in.a_scale, in.b_scale, in.y_scale}) {
      if (q.inputs[i].type.dtype != DType::kF32) return nullptr;
    }
  }
  if (q.op == Op::kConvInteger || q.op == Op::kQLinearConv) {
    *reason = "tuned for NCHW alone";
    const int rank = q.inputs[in.a].type.shape.rank;
    if (q.attrs<attrs::ConvInteger>().layout() != 0 || rank < 3 || rank > 5) return nullptr;
    *reason = "";
    return q.op == Op::kConvInteger ? &kConvInteger : &kQLinearConv;
  }
  *reason = "tuned for one scale and zero point a tensor, or a column of the second";
  if (!is_one(q, in.a_scale) || !is_one(q, in.y_scale) || !is_one(q, in.y_zero) || !is_row(q, in.b_scale))
    return nullptr;
  if (!is_row(q, in.a_zero) || !is_row(q, in.b_zero)) return nullptr;
  *reason = "";
  return q.op == Op::kMatMulInteger ? &kMatMulInteger : &kQLinearMatMul;
}

}  // namespace

extern const CpuOp kCpuOp_integer;
const CpuOp kCpuOp_integer = {"integer", choose};

}  // namespace vireo
