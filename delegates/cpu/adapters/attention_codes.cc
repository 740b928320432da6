// Attention of codes: two products and the softmax between them, in one composite (fuse_attention_codes).
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/attention/codes.h"
#include "delegates/cpu/requantize_of.h"
#include "sdk/composites/attention/codes_attention.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/int_softmax/int_softmax_generated.h"

namespace vireo {
namespace {

using composites::FusedCodesAttention;
using composites::MovedCodes;
using cpu::AttentionCodes;

// Extents and steps of an operand as its product reads it: [batches, heads, rows, columns], the first ones 1 where the
// rank is less.
struct Lying {
  int64_t extents[4] = {1, 1, 1, 1}, steps[4] = {0, 0, 0, 0};
};

Lying lying(const Shape& from, const int* axes, int rank) {
  int64_t steps[4], step = 1;
  for (int i = rank; i-- > 0; step *= from[i]) steps[i] = step;
  Lying out;
  for (int i = 0; i < rank; ++i) {
    out.extents[4 - rank + i] = from[axes[i]];
    out.steps[4 - rank + i] = steps[axes[i]];
  }
  return out;
}

AttentionCodes::Steps steps_of(const Lying& l, int row) { return {l.steps[row], l.steps[1], l.steps[0]}; }

// False where the operands do not fit each other.
bool shape_of(const FusedCodesAttention& f, const Shape& q_shape, const Shape& k_shape, const Shape& v_shape,
              const Shape& y_shape, AttentionCodes* s) {
  const Lying q = lying(q_shape, f.q.axes, f.rank), k = lying(k_shape, f.k.axes, f.rank),
              v = lying(v_shape, f.v.axes, f.rank);
  int from[4];
  for (int i = 0; i < f.rank; ++i) from[f.y[i]] = i;
  const Lying y = lying(y_shape, from, f.rank);
  s->batch = q.extents[0];
  s->heads = q.extents[1];
  s->queries = q.extents[2];
  s->head = q.extents[3];
  s->keys = k.extents[3];
  s->value_head = v.extents[3];
  s->k_turned = f.k.axes[f.rank - 1] == f.rank - 1;
  s->q = steps_of(q, 2);
  s->k = steps_of(k, s->k_turned ? 2 : 3);
  s->v = steps_of(v, 2);
  s->y = steps_of(y, 2);
  for (int i = 0; i < 2; ++i) {
    if (k.extents[i] != q.extents[i] || v.extents[i] != q.extents[i] || y.extents[i] != q.extents[i]) return false;
  }
  return k.extents[2] == s->head && v.extents[2] == s->keys && y.extents[2] == s->queries &&
         y.extents[3] == s->value_head;
}

int64_t scratch_bytes(const CpuQuery& q) {
  FusedCodesAttention f;
  if (!composites::match_codes_attention(q, &f)) return 0;
  AttentionCodes s;
  (void)shape_of(f, q.inputs[f.q.input].type.shape, q.inputs[f.k.input].type.shape, q.inputs[f.v.input].type.shape,
                 q.outputs[0].type.shape, &s);
  return static_cast<int64_t>(cpu::attention_codes_scratch_bytes(s, q.slots));
}

void prepare(const CpuQuery& q, void* state) {
  (void)composites::match_codes_attention(q, new (state) FusedCodesAttention());
}

const Tensor& at(const KernelContext& ctx, int32_t input) { return ctx.required(static_cast<size_t>(input)); }

// False where it is not broadcast to the scores.
bool set_kept(const Tensor& kept, AttentionCodes* s) {
  const int64_t extents[4] = {s->batch, s->heads, s->queries, s->keys};
  int64_t steps[4] = {0, 0, 0, 0}, step = 1;
  for (int i = kept.shape.rank; i-- > 0; step *= kept.shape[i]) {
    const int axis = 4 - kept.shape.rank + i;
    if (axis < 0 || (kept.shape[i] != 1 && kept.shape[i] != extents[axis])) return false;
    steps[axis] = kept.shape[i] == 1 ? 0 : step;
  }
  s->kept = kept.as<const uint8_t>();
  s->kept_key = steps[3];
  s->kept_steps = {steps[2], steps[1], steps[0]};
  return true;
}

bool is_signed(DType t) { return t == DType::kI8; }

Status run(const KernelContext& ctx, const void* state) {
  const auto& f = *static_cast<const FusedCodesAttention*>(state);
  const auto& scores = *::flatbuffers::GetRoot<attrs::IntGemm>(f.scores);
  const auto& softmax = *::flatbuffers::GetRoot<attrs::IntSoftmax>(f.softmax);
  const auto& product = *::flatbuffers::GetRoot<attrs::IntGemm>(f.product);
  const Tensor &q = at(ctx, f.q.input), &k = at(ctx, f.k.input), &v = at(ctx, f.v.input);
  Tensor& y = *ctx.out(0);
  AttentionCodes s;
  if (!shape_of(f, q.shape, k.shape, v.shape, y.shape, &s))
    return ctx.fail(Status::kInvalidModel, "queries {}, keys {} and values {} do not make one attention", q.shape,
                    k.shape, v.shape);
  if (y.count() == 0) return Status::kOk;
  // A zero point is a byte of either type.
  const auto q_zero = static_cast<uint8_t>(scores.a_zero()), shares_zero = static_cast<uint8_t>(product.a_zero());
  s.q_signed = is_signed(q.dtype);
  s.k_signed = is_signed(k.dtype);
  s.v_signed = is_signed(v.dtype);
  s.scores_signed = is_signed(f.scored);
  s.shares_signed = is_signed(f.shared);
  s.q_zero = &q_zero;
  s.shares_zero = &shares_zero;
  if (f.zeros[0] >= 0) s.k_zero = at(ctx, f.zeros[0]).data;
  if (f.zeros[1] >= 0) s.v_zero = at(ctx, f.zeros[1]).data;
  s.scores = cpu::requantize_of(scores);
  s.scores.multiplier = at(ctx, f.multipliers[0]).as<const float>();
  s.result = cpu::requantize_of(product);
  s.result.multiplier = at(ctx, f.multipliers[1]).as<const float>();
  s.shares = cpu::requantize_of(softmax);
  s.softmax_multiplier = softmax.multiplier();
  s.table = at(ctx, f.table).as<const int32_t>();
  if (f.kept >= 0 && !set_kept(at(ctx, f.kept), &s))
    return ctx.fail(Status::kInvalidModel, "what is kept is {}, which is not broadcast to the scores",
                    at(ctx, f.kept).shape);
  cpu::attention_codes(s, q.as<const uint8_t>(), k.as<const uint8_t>(), v.as<const uint8_t>(), y.as<uint8_t>(),
                       ctx.parallel, ctx.scratch.data());
  return Status::kOk;
}

constexpr CpuKernel kAttention = {"attention_codes", sizeof(FusedCodesAttention), scratch_bytes, prepare, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  FusedCodesAttention f;
  *reason = "";  // another body is another kernel's
  return composites::match_codes_attention(q, &f) ? &kAttention : nullptr;
}

}  // namespace

extern const CpuOp kCpuOp_attention_codes;
const CpuOp kCpuOp_attention_codes = {"attention_codes", choose};

}  // namespace vireo
