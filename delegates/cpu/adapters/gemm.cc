// Gemm and MatMul, alone or as the core of a composite, float32.
#include "delegates/cpu/kernels/gemm/gemm.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/forms.h"
#include "sdk/ops/gemm/gemm_generated.h"

namespace vireo {
namespace {

using composites::Stored;
using cpu::Fused;
using cpu::FusedState;
using cpu::GemmF32;

bool is_row(const Shape& c, int64_t n) {  // [N] or [1, N]
  return (c.rank == 1 && c[0] == n) || (c.rank == 2 && c[0] == 1 && c[1] == n);
}

// In place: a copy would wait for each of these stores, as long as a small product takes.
void gemm_shape(const Fused& f, const Shape& a, const Shape& b, GemmF32* g) {
  const auto& at = f.core_attrs<attrs::Gemm>();
  g->trans_a = at.trans_a();
  g->trans_b = at.trans_b();
  g->m = a[g->trans_a ? 1 : 0];
  g->k = a[g->trans_a ? 0 : 1];
  g->n = b[g->trans_b ? 0 : 1];
  g->lda = a[1];
  g->ldb = b[1];
  g->ldc = g->n;
  g->epilogue.alpha = at.alpha();
}

struct Batch {
  cpu::BatchDim dims[kMaxRank];
};

// Batches broadcast. B shared by all in every run (`shared`: weights) joins the batch of A into its rows. Else
// dimensions that go on in A and B alike are one; a batch of several is described by `batch`, of which the shape keeps
// a pointer. Scratch is for the rows and items that there are at the bounds.
bool matmul_shape(const Shape& a, const Shape& b, bool shared, GemmF32* g, Batch* batch) {
  if (a.rank < 2 || b.rank < 2) return false;
  g->k = a[a.rank - 1];
  g->n = b[b.rank - 1];
  g->m = a[a.rank - 2];
  g->lda = g->k;
  g->ldb = g->ldc = g->n;
  g->c_step = g->m * g->n;
  if (shared) {
    g->m *= product(a, 0, a.rank - 2);
    return true;
  }
  int count = 0;
  int64_t a_step = g->m * g->k, b_step = g->k * g->n;
  for (int i = 3; i <= a.rank || i <= b.rank; ++i) {
    const int64_t in_a = i <= a.rank ? a[a.rank - i] : 1, in_b = i <= b.rank ? b[b.rank - i] : 1;
    if (in_a != in_b && in_a != 1 && in_b != 1) return false;
    const int64_t extent = in_a == 1 ? in_b : in_a;
    if (extent == 1) continue;
    const cpu::BatchDim d = {extent, in_a == 1 ? 0 : a_step, in_b == 1 ? 0 : b_step};
    a_step *= in_a;
    b_step *= in_b;
    g->batch *= extent;
    cpu::BatchDim* const last = count == 0 ? nullptr : &batch->dims[count - 1];
    if (last != nullptr && d.a_step == last->a_step * last->extent && d.b_step == last->b_step * last->extent) {
      last->extent *= extent;
    } else {
      batch->dims[count++] = d;
    }
  }
  if (count == 1) {
    g->a_step = batch->dims[0].a_step;
    g->b_step = batch->dims[0].b_step;
  } else if (count > 1) {
    g->batch_dims = batch->dims;
  }
  return true;
}

bool is_shared(const Shape& b) { return product(b, 0, b.rank - 2) == 1; }

bool shape_of(const Fused& f, const Shape& a, const Shape& b, GemmF32* g, Batch* batch) {
  if (f.core == Op::kGemm) {
    gemm_shape(f, a, b, g);
  } else if (!matmul_shape(a, b, is_shared(f.inputs[1].type.shape), g, batch)) {
    return false;
  }
  g->epilogue.act = f.act;
  g->epilogue.residual_last = f.residual_last;
  g->epilogue.residual_times = f.residual_times;
  if (f.residual.given()) {
    g->epilogue.residual_stride = g->n;
    g->residual_step = g->c_step;
  }
  return true;
}

// How the batch is laid out does not matter there.
bool shape_at_bounds(const Fused& f, GemmF32* g) {
  Batch batch;
  const bool fits = shape_of(f, f.inputs[0].type.shape, f.inputs[1].type.shape, g, &batch);
  g->batch_dims = nullptr;
  return fits;
}

bool pack(const CpuQuery& q, uint32_t index, const Parallel& parallel, vireo_packed* out, void* to) {
  const Fused* const f = cpu::product_of(q);
  GemmF32 g;
  if (index != 0 || f == nullptr || !shape_at_bounds(*f, &g)) return false;
  const size_t bytes = static_cast<size_t>(cpu::gemm_f32_packed_floats(g)) * sizeof(float);
  if (!cpu::offer_packed(f->inputs[1].fixed(q), kPackedGemmF32, {g.n, g.k, g.trans_b ? 1 : 0, 0}, bytes, out))
    return false;
  if (to != nullptr) cpu::pack_gemm_f32(g, static_cast<const float*>(out->constant), parallel, static_cast<float*>(to));
  return true;
}

int64_t scratch_bytes(const CpuQuery& q) {
  const Fused* const f = cpu::product_of(q);
  GemmF32 g;
  if (f == nullptr || !shape_at_bounds(*f, &g)) return 0;
  if (cpu::will_be_packed(q, pack)) return 0;
  return static_cast<int64_t>(
      cpu::gemm_f32_scratch_bytes(g, q.slots, q.is_static() ? cpu::Sizes::kFixed : cpu::Sizes::kUpperBounds));
}

Status run(const KernelContext& ctx, const void* state) {
  const Fused& f = static_cast<const FusedState*>(state)->fused;
  if (!composites::fits(ctx, f))
    return ctx.fail(Status::kInvalidModel, "the value to be added has another shape than the result");
  GemmF32 g;
  Batch batch;
  if (!shape_of(f, f.inputs[0].shape(ctx), f.inputs[1].shape(ctx), &g, &batch))
    return ctx.fail(Status::kInvalidModel, "a product of {} and {}", f.inputs[0].shape(ctx), f.inputs[1].shape(ctx));
  g.packed = static_cast<const FusedState*>(state)->packed;
  if (f.bias.given()) g.epilogue.col_bias = f.bias.f32(ctx);
  if (f.residual.given()) g.epilogue.residual = f.residual.f32(ctx);
  if (f.slope.given()) g.epilogue.col_slope = f.slope.f32(ctx);
  if (f.core == Op::kGemm && f.input_count > 2 && f.inputs[2].given()) g.epilogue.col_bias = f.inputs[2].f32(ctx);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  cpu::gemm_f32(g, f.inputs[0].f32(ctx), f.inputs[1].f32(ctx), y.as<float>(), ctx.parallel, ctx.scratch.data());
  return Status::kOk;
}

constexpr CpuKernel kGemm = {"gemm_f32", sizeof(FusedState), scratch_bytes, cpu::prepare_fused<pack>, run, pack};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const Fused* const found = cpu::product_of(q);
  *reason = "";  // another body is another kernel's
  if (found == nullptr || found->stored != Stored::kPlain) return nullptr;
  const Fused& f = *found;
  if (f.core != Op::kGemm && f.core != Op::kMatMul) return nullptr;
  *reason = "tuned for float32 alone";
  if (f.core_type.dtype != DType::kF32) return nullptr;
  GemmF32 g;
  *reason = "tuned for matrices";
  if (!shape_at_bounds(f, &g)) return nullptr;
  if (f.core == Op::kGemm && f.input_count > 2 && f.inputs[2].given()) {
    *reason = "tuned for a bias of one value a column in every run, and beta 1";
    if (f.core_attrs<attrs::Gemm>().beta() != 1 || !f.inputs[2].is_static(q) || !is_row(f.inputs[2].type.shape, g.n))
      return nullptr;
  }
  *reason = "";
  return &kGemm;
}

}  // namespace

extern const CpuOp kCpuOp_gemm;
const CpuOp kCpuOp_gemm = {"gemm", choose};

}  // namespace vireo
