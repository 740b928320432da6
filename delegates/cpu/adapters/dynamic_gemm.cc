// The composite "dynamic_gemm": MatMulInteger, its sums as float32 times a scale, and a bias. Sums become real numbers
// in the registers that they were made in; the numbers are those of the body.
#include <new>

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/forms.h"
#include "delegates/cpu/gemm_i8_shape.h"

namespace vireo {
namespace {

using cpu::FusedDynamic;
using cpu::GemmI8;

struct State {
  FusedDynamic fused;
  const void* packed = nullptr;  // null: the weights as they lie
};

// The number of elements of input `i`; 1 if the node has no such input.
int64_t count_of(const CpuQuery& q, int32_t i) {
  return i < 0 ? 1 : product(q.inputs[i].type.shape, 0, q.inputs[i].type.shape.rank);
}

bool pack(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  const FusedDynamic* const f = cpu::dynamic_of(q);
  return index == 0 && f != nullptr &&
         cpu::pack_constant_i8(q, static_cast<uint32_t>(f->x), static_cast<uint32_t>(f->w), parallel, out, to);
}

// The product of two scales, rounded up to whole lines.
int64_t factor_bytes(int64_t count) { return (count * static_cast<int64_t>(sizeof(float)) + 63) / 64 * 64; }

int64_t scratch_bytes(const CpuQuery& q) {
  const FusedDynamic& f = *cpu::dynamic_of(q);  // the kernel was chosen for it
  const Shape &x = q.inputs[f.x].type.shape, &w = q.inputs[f.w].type.shape;
  GemmI8 g;
  g.k = x[x.rank - 1];
  g.n = w[1];
  g.m = product(x, 0, x.rank - 1);
  const int64_t scale = count_of(q, f.scale), other = count_of(q, f.other_scale);
  return factor_bytes(scale > other ? scale : other) +
         static_cast<int64_t>(cpu::gemm_i8_scratch_bytes(g, false, q.slots));
}

void prepare(const CpuQuery& q, void* state) {
  auto* const s = new (state) State();
  s->fused = *cpu::dynamic_of(q);
  s->packed = cpu::packed_at(q, pack);
}

Status run(const KernelContext& ctx, const void* prepared) {
  const State& state = *static_cast<const State*>(prepared);
  const FusedDynamic& f = state.fused;
  const auto given = [&](int32_t i) { return i < 0 ? nullptr : &ctx.required(static_cast<size_t>(i)); };
  const Tensor &x = *given(f.x), &w = *given(f.w), &scale = *given(f.scale);
  const Tensor *x_zero = given(f.x_zero), *w_zero = given(f.w_zero);
  const Tensor *other = given(f.other_scale), *later = given(f.later_scale), *bias = given(f.bias);
  Tensor& y = *ctx.out(0);
  if (!composites::fits(ctx, f)) return ctx.fail(Status::kInvalidModel, "the sums have another shape than the result");
  if (y.count() == 0) return Status::kOk;

  // Copied also where it is one scale: y may lie on it.
  auto* const factor = reinterpret_cast<float*>(ctx.scratch.data());
  const int64_t of_scale = scale.count(), of_other = other == nullptr ? 1 : other->count();
  const int64_t factors = of_scale > of_other ? of_scale : of_other;
  for (int64_t i = 0; i < factors; ++i) {
    factor[i] = scale.as<const float>()[of_scale == 1 ? 0 : i];
    if (other != nullptr) factor[i] = factor[i] * other->as<const float>()[of_other == 1 ? 0 : i];
  }
  cpu::RealStep real;
  real.factor = factor;
  real.factor_per_column = factors != 1;
  if (later != nullptr) real.later = later->as<const float>();
  real.later_per_column = later != nullptr && later->count() != 1;
  if (bias != nullptr) real.bias = bias->as<const float>();
  real.bias_per_column = bias != nullptr && bias->count() != 1;

  GemmI8 g;
  g.k = g.lda = x.shape[x.shape.rank - 1];
  g.n = g.ldb = g.ldc = w.shape[1];
  g.m = y.count() / g.n;
  g.a_signed = x.dtype == DType::kI8;
  g.b_signed = w.dtype == DType::kI8;
  if (x_zero != nullptr) g.a_zero = x_zero->data;
  if (w_zero != nullptr) g.b_zero = w_zero->data;
  g.b_zero_per_column = w_zero != nullptr && w_zero->count() != 1;
  g.real = &real;
  g.packed = state.packed;
  cpu::gemm_i8(g, x.data, w.data, y.data, ctx.parallel, ctx.scratch.data() + factor_bytes(factors));
  return Status::kOk;
}

constexpr CpuKernel kKernel = {"dynamic_gemm_i8i8f32", sizeof(State), scratch_bytes, prepare, run, pack};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  *reason = "its body is not a product of matrices in integers, a scale and a bias";
  const FusedDynamic* const f = cpu::dynamic_of(q);
  if (f == nullptr || f->core != Op::kMatMulInteger) return nullptr;
  *reason = "tuned for one matrix on the right, with a zero point for all or each of its columns, and one on the left";
  const Shape& w = q.inputs[f->w].type.shape;
  if (w.rank != 2 || q.outputs[0].type.dtype != DType::kF32) return nullptr;
  if (count_of(q, f->x_zero) != 1) return nullptr;
  if (count_of(q, f->w_zero) != 1 && q.inputs[f->w_zero].type.shape.rank != 1) return nullptr;
  *reason = "";
  return &kKernel;
}

}  // namespace

extern const CpuOp kCpuOp_dynamic_gemm;
const CpuOp kCpuOp_dynamic_gemm = {"dynamic_gemm", choose};

}  // namespace vireo
