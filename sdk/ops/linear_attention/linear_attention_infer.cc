// Attention as a recurrence over a state S [Dk, Dv] for each batch and key head, Hq query heads in groups over Hkv key
// heads:
//   0 q [B, T, Hq Dk], 1 k [B, T, Hkv Dk], 2 v [B, T, Hkv Dv], 3 past [B, Hkv, Dk, Dv], optional
//   4 decay [B, T, Hkv Dk] or [B, T, Hkv], logarithms (gated rules), 5 beta [B, T, Hkv] or [B, T, 1] (delta rules)
//   linear       S += k v^T                        gated        S = exp(decay) S + k v^T
//   delta        S += beta k (v - S^T k)^T         gated delta  S = exp(decay) S, then as delta
//   y [B, T, Hq Dv] = scale q^T S after each step's update; present [B, Hkv, Dk, Dv]
//   dtype  f32, f16, bf16; the state may have another of them; computed in f32;  alias none;  scratch a state a thread
// Source: ONNX opset 27 "LinearAttention". Its chunk_size says how fast, not what.
#include "sdk/ops/linear_attention/linear_attention_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

using attrs::LinearAttentionRule;

bool is_supported(DType t) { return t == DType::kF32 || t == DType::kF16 || t == DType::kBF16; }

// An optional input: `needed` by the rule, of rank 3 and [B, T, ..].
Status check_gate(InferContext& ctx, int i, bool needed, const char* name, Dim one, Dim other) {
  if (!ctx.has(i)) {
    return needed ? ctx.fail(Status::kInvalidModel, "this update rule needs {}", name) : Status::kOk;
  }
  VIREO_TRY(check_rank(ctx, i, 3, 3));
  const TensorType &t = ctx.input(i), &q = ctx.input(0);
  if (t.dtype == q.dtype && !ctx.differ(t.shape[0], q.shape[0]) && !ctx.differ(t.shape[1], q.shape[1]) &&
      (!ctx.differ(t.shape[2], one) || !ctx.differ(t.shape[2], other))) {
    return Status::kOk;
  }
  return ctx.fail(Status::kInvalidModel, "{} is {} {}, wanted {} with a last axis of {} or {}", name,
                  dtype_name(t.dtype), t.shape, dtype_name(q.dtype), one, other);
}

Status infer_linear_attention(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::LinearAttention>();
  if (a.rule() > LinearAttentionRule::MAX) {
    return ctx.fail(Status::kInvalidModel, "update rule {} is not known", static_cast<int>(a.rule()));
  }
  if (a.kv_heads() < 1 || a.q_heads() < 1 || a.q_heads() % a.kv_heads() != 0) {
    return ctx.fail(Status::kInvalidModel, "{} query heads do not divide into groups over {} key heads", a.q_heads(),
                    a.kv_heads());
  }
  const TensorType& q = ctx.input(0);
  Dim size[3] = {0, 0, 0};
  for (int i = 0; i < 3; ++i) {
    VIREO_TRY(check_rank(ctx, i, 3, 3));
    const TensorType& t = ctx.input(i);
    if (!is_supported(t.dtype) || t.dtype != q.dtype) {
      return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted float, float16 or bfloat16 as the query", i,
                      dtype_name(t.dtype));
    }
    if (ctx.differ(t.shape[0], q.shape[0]) || ctx.differ(t.shape[1], q.shape[1])) {
      return ctx.fail(Status::kInvalidModel, "input {} is {} but the query {}", i, t.shape, q.shape);
    }
    const int heads = i == 0 ? a.q_heads() : a.kv_heads();
    if (!is_symbolic(t.shape[2]) && t.shape[2] % heads != 0) {
      return ctx.fail(Status::kInvalidModel, "input {}: the last axis of {} does not hold {} heads", i, t.shape[2],
                      heads);
    }
    size[i] = ctx.floor_div(t.shape[2], heads);
  }
  if (ctx.differ(size[0], size[1])) {
    return ctx.fail(Status::kInvalidModel, "heads of {} in the query and {} in the key", size[0], size[1]);
  }
  const Dim key_heads = a.kv_heads();
  const Shape state = {4, {q.shape[0], key_heads, size[1], size[2]}};
  DType state_type = q.dtype;
  if (ctx.has(3)) {
    VIREO_TRY(check_rank(ctx, 3, 4, 4));
    state_type = ctx.input(3).dtype;
    bool fits = is_supported(state_type);
    for (int i = 0; i < 4; ++i) fits = fits && !ctx.differ(ctx.input(3).shape[i], state[i]);
    if (!fits) {
      return ctx.fail(Status::kInvalidModel, "past_state is {} {}, wanted {}", dtype_name(state_type),
                      ctx.input(3).shape, state);
    }
  }
  const bool gated = a.rule() == LinearAttentionRule::Gated || a.rule() == LinearAttentionRule::GatedDelta;
  const bool delta = a.rule() == LinearAttentionRule::Delta || a.rule() == LinearAttentionRule::GatedDelta;
  VIREO_TRY(check_gate(ctx, 4, gated, "decay", key_heads, ctx.mul(key_heads, size[1])));
  VIREO_TRY(check_gate(ctx, 5, delta, "beta", key_heads, 1));
  if (ctx.wants(0)) ctx.output(0) = {q.dtype, Shape{3, {q.shape[0], q.shape[1], ctx.mul(a.q_heads(), size[2])}}};
  if (ctx.wants(1)) ctx.output(1) = {state_type, state};
  return Status::kOk;
}

}  // namespace

extern const OpDef kLinearAttentionOp;
const OpDef kLinearAttentionOp = {
    "LinearAttention", verify_attrs<attrs::LinearAttention>, infer_linear_attention, 3, 6, 1, 2, OpDef::kPure,
    /*inplace=*/0};

}  // namespace vireo
