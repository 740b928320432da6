// Conv channels last, Gemm and MatMul whose operands go through bfloat16: a composite that quant/schemes/bf16 made.
#include "delegates/cpu/conv_shape.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/fused.h"
#include "delegates/cpu/kernels/gemm_bf16/gemm_bf16.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"

namespace vireo {
namespace {

using cpu::Bf16Weights;
using cpu::ConvF32;
using cpu::Fused;
using cpu::GemmBf16;

struct State {
  Fused fused;
  const uint16_t* packed = nullptr;
};

bool is_conv(const Fused& f) { return f.core == Op::kConv; }
bool is_transposed(const Fused& f) { return f.core == Op::kGemm && f.core_attrs<attrs::Gemm>().trans_b(); }

ConvF32 conv_of(const Fused& f, const Shape& x, const Shape& y) {
  const auto& a = f.core_attrs<attrs::Conv>();
  ConvF32 c = cpu::conv_shape(conv_geometry(a, x, f.inputs[1].type.shape, y), a.group());
  c.act = f.act;
  c.residual_last = f.residual_last;
  c.residual_times = f.residual_times;
  return c;
}

// All of A's rows, whatever dimensions they are counted in.
GemmBf16 gemm_of(const Fused& f, const Shape& a) {
  const Shape& b = f.inputs[1].type.shape;
  GemmBf16 g;
  g.k = g.lda = a[a.rank - 1];
  g.m = product(a, 0, a.rank - 1);
  g.n = g.ldc = b[is_transposed(f) ? 0 : 1];
  if (f.core == Op::kGemm) g.epilogue.alpha = f.core_attrs<attrs::Gemm>().alpha();
  g.epilogue.act = f.act;
  g.epilogue.residual_stride = g.n;
  g.epilogue.residual_last = f.residual_last;
  g.epilogue.residual_times = f.residual_times;
  return g;
}

bool pack(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  Fused f;
  const char* reason = "";
  if (index != 0 || !cpu::read_fused_bf16(q, -1, &f, &reason)) return false;
  const Shape& w = f.inputs[1].type.shape;
  const bool transposed = is_transposed(f);
  const int64_t taps = is_conv(f) ? product(w, 2, w.rank) : 0;
  const int64_t n = is_conv(f) || transposed ? w[0] : w[1];
  const int64_t k = is_conv(f) ? w[1] * taps : transposed ? w[1] : w[0];
  const size_t bytes = static_cast<size_t>(cpu::bf16_packed_elements(n, k)) * sizeof(uint16_t);
  if (!cpu::offer_packed(f.inputs[1].fixed(q), kPackedBf16, {n, k, taps, transposed ? 1 : 0}, bytes, out)) return false;
  if (to == nullptr) return true;
  const Bf16Weights b = is_conv(f) ? Bf16Weights::filters(out->constant, w[1], taps)
                                   : Bf16Weights::matrix(out->constant, n, k, transposed);
  cpu::pack_bf16(b, n, k, parallel, static_cast<uint16_t*>(to));
  return true;
}

int64_t scratch_bytes(const CpuQuery& q) {
  Fused f;
  const char* reason = "";
  if (!cpu::read_fused_bf16(q, -1, &f, &reason)) return 0;
  const bool packed = cpu::will_be_packed(q, pack);
  if (is_conv(f)) {
    return static_cast<int64_t>(
        cpu::conv_bf16_scratch_bytes(conv_of(f, f.inputs[0].type.shape, f.core_type.shape), q.slots, packed));
  }
  const GemmBf16 g = gemm_of(f, f.inputs[0].type.shape);
  return static_cast<int64_t>(cpu::gemm_bf16_scratch_bytes(g.m, g.n, g.k, q.slots, packed));
}

void prepare(const CpuQuery& q, void* state) {
  const char* reason = "";
  auto* const s = new (state) State();
  (void)cpu::read_fused_bf16(q, -1, &s->fused, &reason);
  s->packed = static_cast<const uint16_t*>(cpu::packed_at(q, pack));
}

Status run(const KernelContext& ctx, const void* state) {
  const auto& s = *static_cast<const State*>(state);
  const Fused& f = s.fused;
  if (!cpu::fits(ctx, f))
    return ctx.fail(Status::kInvalidModel, "the value to be added has another shape than the result");
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  const Shape& x = f.inputs[0].shape(ctx);
  const float* const bias = f.input_count > 2 && f.inputs[2].given() ? f.inputs[2].f32(ctx)
                            : f.bias.given()                         ? f.bias.f32(ctx)
                                                                     : nullptr;
  const float* const residual = f.residual.given() ? f.residual.f32(ctx) : nullptr;
  const float* const slope = f.slope.given() ? f.slope.f32(ctx) : nullptr;
  const void* const weights = f.inputs[1].data(ctx);
  if (is_conv(f)) {
    ConvF32 c = conv_of(f, x, y.shape);
    c.bias = bias;
    c.residual = residual;
    c.slope = slope;
    cpu::conv_bf16(c, f.inputs[0].f32(ctx), weights, s.packed, y.as<float>(), ctx.parallel, ctx.scratch.data());
    return Status::kOk;
  }
  GemmBf16 g = gemm_of(f, x);
  g.epilogue.col_bias = bias;
  g.epilogue.residual = residual;
  g.epilogue.col_slope = slope;
  g.b = Bf16Weights::matrix(weights, g.n, g.k, is_transposed(f));
  g.packed = s.packed;
  cpu::gemm_bf16(g, f.inputs[0].f32(ctx), y.as<float>(), ctx.parallel, ctx.scratch.data());
  return Status::kOk;
}

constexpr CpuKernel kGemm = {"gemm_bf16", sizeof(State), scratch_bytes, prepare, run, pack};
constexpr CpuKernel kConv = {"conv_bf16_nhwc", sizeof(State), scratch_bytes, prepare, run, pack};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  Fused f;
  if (!cpu::read_fused_bf16(q, -1, &f, reason)) {
    *reason = "";  // another body is another kernel's
    return nullptr;
  }
  const Shape &x = f.inputs[0].type.shape, &w = f.inputs[1].type.shape;
  if (f.core == Op::kConv) {
    const auto& a = f.core_attrs<attrs::Conv>();
    *reason = "in bfloat16, tuned for channels last in one group";
    if (static_cast<Layout>(a.layout()) != Layout::kNhwc || a.group() != 1 || x.rank < 3 || x.rank > 5) return nullptr;
    *reason = "";
    return &kConv;
  }
  if (f.core != Op::kGemm && f.core != Op::kMatMul) {
    *reason = "";
    return nullptr;
  }
  *reason = "in bfloat16, tuned for rows of A and one matrix of weights";
  if (x.rank < 2 || w.rank != 2) return nullptr;
  if (f.core == Op::kGemm) {
    const auto& a = f.core_attrs<attrs::Gemm>();
    if (a.trans_a()) return nullptr;
    const int64_t n = w[a.trans_b() ? 0 : 1];
    const bool bias = f.input_count > 2 && f.inputs[2].given();
    const Shape& c = f.inputs[f.input_count > 2 ? 2 : 0].type.shape;
    const bool row = (c.rank == 1 && c[0] == n) || (c.rank == 2 && c[0] == 1 && c[1] == n);
    *reason = "tuned for a bias of one value a column and beta 1";
    if (bias && (a.beta() != 1 || !row)) return nullptr;
  }
  *reason = "";
  return &kGemm;
}

constexpr Op kOps[] = {Op::kComposite};

}  // namespace

extern const CpuOp kCpuOp_bf16;
const CpuOp kCpuOp_bf16 = {"bf16", choose, Span<const Op>(kOps)};

}  // namespace vireo
