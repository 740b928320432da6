// Gemm and MatMul whose constant weights are codes of 4 or 8 bits: a composite that begins with their DequantizeLinear.
#include "delegates/cpu/kernels/gemm_codes/gemm_codes.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/fused.h"
#include "sdk/ops/gemm/gemm_generated.h"

namespace vireo {
namespace {

using cpu::CodedOperand;
using cpu::CodedWeights;
using cpu::Fused;
using cpu::GemmCodes;

struct State {
  Fused fused;
  CodedOperand coded;
  const uint32_t* codes = nullptr;
  const float* scales = nullptr;
  const uint8_t* zeros = nullptr;
};

bool is_transposed(const Fused& f) { return f.core == Op::kGemm && f.core_attrs<attrs::Gemm>().trans_b(); }

// Steps of the weights; false where scales do not lie so that the kernel knows them. Data is filled in later.
bool weights_of(const Fused& f, const CodedOperand& c, CodedWeights* out) {
  const TensorType& w = f.inputs[1].type;
  if (w.shape.rank != 2) return false;
  const bool transposed = is_transposed(f);
  const int64_t n = w.shape[transposed ? 0 : 1], k = w.shape[transposed ? 1 : 0];
  out->bits = dtype_bits(w.dtype);
  out->is_signed = dtype_is_signed(w.dtype);
  if (!dtype_is_integer(w.dtype) || (out->bits != 4 && out->bits != 8)) return false;
  out->n_step = transposed ? k : 1;
  out->k_step = transposed ? 1 : n;
  const int axis = c.axis < 0 ? c.axis + 2 : c.axis, k_axis = transposed ? 1 : 0;
  const Shape& s = c.scale.type.shape;
  out->block = k;
  out->scale_k_step = 0;
  if (c.block == 0) {
    const bool one = product(s, 0, s.rank) == 1;
    out->scale_n_step = one ? 0 : 1;
    return one || axis != k_axis;
  }
  if (axis != k_axis || s.rank != 2) return false;
  out->block = c.block;
  out->scale_n_step = transposed ? s[1] : 1;
  out->scale_k_step = transposed ? 1 : s[1];
  return c.block >= k || c.block % 8 == 0;
}

bool read(const CpuQuery& q, Fused* f, CodedOperand* c, CodedWeights* w, const char** reason) {
  if (!cpu::read_fused_codes(q, -1, f, c, reason)) {
    *reason = "";  // another body is another kernel's
    return false;
  }
  *reason = "tuned for one matrix of 4 or 8 bits, with a scale for each column or for blocks of its rows by eights";
  if (!weights_of(*f, *c, w)) return false;
  w->codes = f->inputs[1].fixed(q);
  w->scales = static_cast<const float*>(c->scale.fixed(q));
  w->zeros = c->zero.given() ? c->zero.fixed(q) : nullptr;
  return true;
}

// All of A's rows, whatever dimensions they are counted in.
GemmCodes gemm_of(const Fused& f, const CodedWeights& w, const Shape& a) {
  const Shape& b = f.inputs[1].type.shape;
  GemmCodes g;
  g.k = g.lda = a[a.rank - 1];
  g.m = product(a, 0, a.rank - 1);
  g.n = g.ldc = b[is_transposed(f) ? 0 : 1];
  g.b = w;
  if (f.core == Op::kGemm) g.epilogue.alpha = f.core_attrs<attrs::Gemm>().alpha();
  g.epilogue.act = f.act;
  g.epilogue.residual_stride = g.n;
  g.epilogue.residual_last = f.residual_last;
  g.epilogue.residual_times = f.residual_times;
  return g;
}

// Codes, their scales and their zeros are constants of their own: other codes may share scales.
bool pack(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  Fused f;
  CodedOperand c;
  CodedWeights w;
  const char* reason = "";
  if (!read(q, &f, &c, &w, &reason) || index > (w.zeros != nullptr ? 2u : 1u)) return false;
  const bool transposed = is_transposed(f);
  const Shape& s = f.inputs[1].type.shape;
  const int64_t n = s[transposed ? 0 : 1], k = s[transposed ? 1 : 0], blocks = cpu::blocks_of(w, k);
  constexpr int64_t kTransposed = 1, kSigned = 2, kScales = 16, kZeros = 32;
  const int64_t flags = (transposed ? kTransposed : 0) + (w.is_signed ? kSigned : 0);
  if (index == 0) {
    const size_t bytes = cpu::codes_packed_bytes(n, k, w.bits);
    if (!cpu::offer_packed(w.codes, kPackedCodes, {n, k, w.bits, flags}, bytes, out)) return false;
    if (to != nullptr) cpu::pack_codes(w, n, k, parallel, static_cast<uint32_t*>(to));
  } else if (index == 1) {
    const int64_t each = w.scale_n_step == 0 ? 0 : 1;  // one number for all columns packs otherwise
    const size_t bytes = cpu::scales_packed_bytes(n, blocks);
    if (!cpu::offer_packed(w.scales, kPackedCodes, {n, blocks, each, flags + kScales}, bytes, out)) return false;
    if (to != nullptr) cpu::pack_scales(w, n, blocks, static_cast<float*>(to));
  } else {
    const int64_t kind = w.bits + (w.scale_n_step == 0 ? 16 : 0);
    const size_t bytes = cpu::zeros_packed_bytes(n, blocks);
    if (!cpu::offer_packed(w.zeros, kPackedCodes, {n, blocks, kind, flags + kZeros}, bytes, out)) return false;
    if (to != nullptr) cpu::pack_zeros(w, n, blocks, static_cast<uint8_t*>(to));
  }
  return true;
}

int64_t scratch_bytes(const CpuQuery& q) {
  Fused f;
  CodedOperand c;
  CodedWeights w;
  const char* reason = "";
  if (!read(q, &f, &c, &w, &reason)) return 0;
  const GemmCodes g = gemm_of(f, w, f.inputs[0].type.shape);
  return static_cast<int64_t>(cpu::gemm_codes_scratch_bytes(g.m, g.n, g.k, q.slots, cpu::will_be_packed(q, pack)));
}

void prepare(const CpuQuery& q, void* state) {
  const char* reason = "";
  auto* const s = new (state) State();
  (void)cpu::read_fused_codes(q, -1, &s->fused, &s->coded, &reason);
  s->codes = static_cast<const uint32_t*>(cpu::packed_at(q, pack));
  s->scales = static_cast<const float*>(cpu::packed_at(q, pack, 1));
  s->zeros = static_cast<const uint8_t*>(cpu::packed_at(q, pack, 2));
}

Status run(const KernelContext& ctx, const void* state) {
  const auto& s = *static_cast<const State*>(state);
  const Fused& f = s.fused;
  if (!cpu::fits(ctx, f))
    return ctx.fail(Status::kInvalidModel, "the value to be added has another shape than the result");
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  CodedWeights w;
  (void)weights_of(f, s.coded, &w);
  GemmCodes g = gemm_of(f, w, f.inputs[0].shape(ctx));
  g.b.codes = f.inputs[1].data(ctx);
  g.b.scales = s.coded.scale.f32(ctx);
  g.b.zeros = s.coded.zero.given() ? s.coded.zero.data(ctx) : nullptr;
  g.packed = s.codes;
  g.packed_scales = s.scales;
  g.packed_zeros = s.zeros;
  if (f.input_count > 2 && f.inputs[2].given()) {
    g.epilogue.col_bias = f.inputs[2].f32(ctx);
  } else if (f.bias.given()) {
    g.epilogue.col_bias = f.bias.f32(ctx);
  }
  if (f.residual.given()) g.epilogue.residual = f.residual.f32(ctx);
  if (f.slope.given()) g.epilogue.col_slope = f.slope.f32(ctx);
  cpu::gemm_codes(g, f.inputs[0].f32(ctx), y.as<float>(), ctx.parallel, ctx.scratch.data());
  return Status::kOk;
}

constexpr CpuKernel kGemm4 = {"gemm_f32_w4", sizeof(State), scratch_bytes, prepare, run, pack};
constexpr CpuKernel kGemm8 = {"gemm_f32_w8", sizeof(State), scratch_bytes, prepare, run, pack};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  Fused f;
  CodedOperand c;
  CodedWeights w;
  if (!read(q, &f, &c, &w, reason)) return nullptr;
  if (f.core != Op::kGemm && f.core != Op::kMatMul) {
    *reason = "";
    return nullptr;
  }
  *reason = "with weights in codes, tuned for rows of A";
  if (f.inputs[0].type.shape.rank < 2) return nullptr;
  if (f.core == Op::kGemm) {
    const auto& a = f.core_attrs<attrs::Gemm>();
    if (a.trans_a()) return nullptr;
    const int64_t n = f.inputs[1].type.shape[a.trans_b() ? 0 : 1];
    const bool bias = f.input_count > 2 && f.inputs[2].given();
    const Shape& b = f.inputs[f.input_count > 2 ? 2 : 0].type.shape;
    const bool row = (b.rank == 1 && b[0] == n) || (b.rank == 2 && b[0] == 1 && b[1] == n);
    *reason = "tuned for a bias of one value a column and beta 1";
    if (bias && (a.beta() != 1 || !row)) return nullptr;
  }
  *reason = "";
  return w.bits == 4 ? &kGemm4 : &kGemm8;
}

constexpr Op kOps[] = {Op::kComposite};

}  // namespace

extern const CpuOp kCpuOp_gemm_codes;
const CpuOp kCpuOp_gemm_codes = {"gemm_codes", choose, Span<const Op>(kOps)};

}  // namespace vireo
