// IntConv and IntGemm: 8-bit products that end in codes.
#include "delegates/cpu/conv_shape.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/gemm_i8_shape.h"
#include "delegates/cpu/kernels/conv_nhwc_i8/conv_nhwc_i8.h"
#include "delegates/cpu/requantize_of.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"

namespace vireo {
namespace {

using cpu::ConvF32;
using cpu::ConvI8;
using cpu::GemmI8;
using cpu::Requantize;

// A zero point, which is a byte of either type, where kernels look for one.
uint8_t byte_of(int32_t zero_point) { return static_cast<uint8_t>(zero_point); }

// ---- Convolution

ConvI8 conv_of(const attrs::IntConv& a, const Shape& x, const Shape& w, const Shape& y) {
  ConvI8 c;
  c.shape = cpu::conv_shape(conv_geometry(a, x, w, y), a.group());
  return c;
}

ConvI8 conv_of(const CpuQuery& q) {
  ConvI8 c =
      conv_of(q.attrs<attrs::IntConv>(), q.inputs[0].type.shape, q.inputs[1].type.shape, q.outputs[0].type.shape);
  c.x_signed = q.inputs[0].type.dtype == DType::kI8;
  c.w_signed = true;
  return c;
}

int64_t conv_scratch(const CpuQuery& q) {
  return static_cast<int64_t>(cpu::conv_i8_scratch_bytes(conv_of(q), true, q.slots));
}

// Channels last: filters are columns of a product.
bool pack_conv(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  const ConvI8 c = conv_of(q);
  const ConvF32& s = c.shape;
  const int64_t taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
  if (index != 0 || !cpu::offer_packed(q.inputs[1].constant, kPackedI8,
                                       {s.out_channels, s.in_channels * taps, taps, c.x_signed ? 1 : 0},
                                       cpu::conv_nhwc_i8_packed_bytes(s), out)) {
    return false;
  }
  if (to != nullptr) cpu::pack_conv_nhwc_i8(c, out->constant, parallel, to);
  return true;
}
int64_t conv_last_scratch(const CpuQuery& q) {
  return static_cast<int64_t>(cpu::conv_nhwc_i8_scratch_bytes(conv_of(q), q.slots, cpu::will_be_packed(q, pack_conv)));
}
void prepare_conv(const CpuQuery& q, void* state) { cpu::prepare_packed_i8(q, pack_conv, state); }

template <bool kLast>
Status run_conv(const KernelContext& ctx, const void* state) {
  const auto& a = ctx.attrs<attrs::IntConv>();
  const Tensor &x = *ctx.in(0), &w = *ctx.in(1), &m = *ctx.in(2);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  ConvI8 c = conv_of(a, x.shape, w.shape, y.shape);
  Requantize finish = cpu::requantize_of(a);
  finish.multiplier = m.as<const float>();
  finish.multiplier_per_row = m.count() != 1;
  if (ctx.in(3) != nullptr) finish.bias = ctx.in(3)->as<const int32_t>();
  const uint8_t x_zero = byte_of(a.x_zero());
  c.x_signed = x.dtype == DType::kI8;
  c.w_signed = true;
  c.x_zero = &x_zero;
  if (ctx.in(4) != nullptr) {
    c.w_zero = ctx.in(4)->data;
    c.w_zero_per_channel = ctx.in(4)->count() != 1;
  }
  c.finish = &finish;
  if constexpr (kLast) {
    cpu::conv_nhwc_i8(c, x.data, w.data, static_cast<const cpu::PackedI8*>(state)->data, y.data, ctx.parallel,
                      ctx.scratch.data());
  } else {
    cpu::conv_i8(c, x.data, w.data, y.data, ctx.parallel, ctx.scratch.data());
  }
  return Status::kOk;
}

// ---- Matrix product

bool pack_gemm(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  return index == 0 && cpu::pack_constant_i8(q, 0, 1, parallel, out, to);
}
void prepare_gemm(const CpuQuery& q, void* state) { cpu::prepare_packed_i8(q, pack_gemm, state); }

int64_t gemm_scratch(const CpuQuery& q) {
  const Shape &a = q.inputs[0].type.shape, &b = q.inputs[1].type.shape;
  GemmI8 g;
  g.k = a[a.rank - 1];
  g.n = b.rank >= 2 ? b[b.rank - 1] : 1;
  g.m = product(a, 0, a.rank - 1);
  return static_cast<int64_t>(cpu::gemm_i8_scratch_bytes(g, true, q.slots));
}

Status run_gemm(const KernelContext& ctx, const void* state) {
  const auto& attributes = ctx.attrs<attrs::IntGemm>();
  const Tensor &a = *ctx.in(0), &b = *ctx.in(1), &m = *ctx.in(2);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  const MatmulShape s = matmul_shape(a.shape, b.shape, y.shape);
  Requantize finish = cpu::requantize_of(attributes);
  finish.multiplier = m.as<const float>();
  finish.multiplier_per_column = m.count() != 1;
  finish.bias_per_column = true;
  if (ctx.in(3) != nullptr) finish.bias = ctx.in(3)->as<const int32_t>();
  const uint8_t a_zero = byte_of(attributes.a_zero());
  GemmI8 g = cpu::gemm_i8_shape(s, a, b);
  g.a_zero = &a_zero;
  if (ctx.in(4) != nullptr) {
    g.b_zero = ctx.in(4)->data;
    g.b_zero_per_column = ctx.in(4)->count() != 1;
  }
  g.finish = &finish;
  g.packed = static_cast<const cpu::PackedI8*>(state)->data;
  int64_t batch = s.batch;
  bool b_shared = true;
  for (int i = 0; i < s.rank; ++i) b_shared = b_shared && s.b_step[i] == 0;
  if (b_shared && a.count() == batch * s.m * s.k) {  // one product with more rows
    g.m *= batch;
    batch = 1;
  }
  for (int64_t i = 0; i < batch; ++i) {
    int64_t a_at = 0, b_at = 0;
    s.offsets(i, &a_at, &b_at);
    cpu::gemm_i8(g, a.as<const uint8_t>() + a_at, b.as<const uint8_t>() + b_at, y.as<uint8_t>() + i * g.m * g.n,
                 ctx.parallel, ctx.scratch.data());
  }
  return Status::kOk;
}

constexpr CpuKernel kConv = {"int_conv_nchw", 0, conv_scratch, nullptr, run_conv<false>};
constexpr CpuKernel kConvLast = {"int_conv_nhwc", sizeof(cpu::PackedI8), conv_last_scratch,
                                 prepare_conv,    run_conv<true>,        pack_conv};
constexpr CpuKernel kGemm = {"int_gemm", sizeof(cpu::PackedI8), gemm_scratch, prepare_gemm, run_gemm, pack_gemm};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "";
  if (q.op == Op::kIntGemm) return &kGemm;
  *reason = "tuned for one to three spatial axes";
  const int rank = q.inputs[0].type.shape.rank;
  if (rank < 3 || rank > 5) return nullptr;
  *reason = "tuned, channels last, for one group, or depthwise over two axes with one output a channel";
  const bool last = q.attrs<attrs::IntConv>().layout() != 0;
  if (last && !cpu::conv_nhwc_i8_serves(conv_of(q).shape)) return nullptr;
  *reason = "";
  return last ? &kConvLast : &kConv;
}

constexpr Op kOps[] = {Op::kIntConv, Op::kIntGemm};

}  // namespace

extern const CpuOp kCpuOp_integer_product;
const CpuOp kCpuOp_integer_product = {"integer_product", choose, Span<const Op>(kOps)};

}  // namespace vireo
