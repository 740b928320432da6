#include "sdk/ops/attention/attention.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

enum Input { kQ, kK, kV, kMask, kPastKey, kPastValue, kLengths };

bool is_plain_float(DType t) { return t == DType::kF32 || t == DType::kF64 || t == DType::kF16 || t == DType::kBF16; }

Status check_attrs(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Attention>();
  if (a.scores() > attrs::AttentionScores::MAX) {
    return ctx.fail(Status::kInvalidModel, "qk_matmul_output_mode {} is not known", static_cast<int>(a.scores()));
  }
  if (a.left_window() < -1 || a.right_window() < -1) {
    return ctx.fail(Status::kInvalidModel, "windows of {} and {}, wanted -1 or more", a.left_window(),
                    a.right_window());
  }
  return Status::kOk;
}

// Extents as dimensions, which may be handles.
struct Dims {
  Dim batch, q_heads, kv_heads, queries, keys, head, value_head;
};

Status want(InferContext& ctx, int input, const char* what, Dim got, Dim wanted) {
  if (!ctx.differ(got, wanted)) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "input {} has {} {}, wanted {}", input, what, got, wanted);
}

// The size of one head where `heads` of them lie in the last axis.
Status split(InferContext& ctx, int input, Dim heads, Dim* size) {
  const Dim all = ctx.input(input).shape[2];
  if (!is_symbolic(all) && all % heads != 0) {
    return ctx.fail(Status::kInvalidModel, "input {}: the last axis of {} does not hold {} heads", input, all, heads);
  }
  *size = ctx.floor_div(all, heads);
  return Status::kOk;
}

Status read_dims(InferContext& ctx, Dims* d) {
  const auto& a = ctx.attrs<attrs::Attention>();
  for (int i = kQ; i <= kV; ++i) {
    if (!ctx.has(i)) return ctx.fail(Status::kInvalidModel, "inputs Q, K and V are needed");
    VIREO_TRY(check_rank(ctx, i, 3, 4));
    if (!is_plain_float(ctx.input(i).dtype)) {
      return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted floating point", i,
                      dtype_name(ctx.input(i).dtype));
    }
    VIREO_TRY(want(ctx, i, "the rank", ctx.input(i).shape.rank, ctx.input(kQ).shape.rank));
    VIREO_TRY(want(ctx, i, "the batch", ctx.input(i).shape[0], ctx.input(kQ).shape[0]));
  }
  if (ctx.input(kK).dtype != ctx.input(kQ).dtype) {
    return ctx.fail(Status::kInvalidModel, "K is {} but Q is {}", dtype_name(ctx.input(kK).dtype),
                    dtype_name(ctx.input(kQ).dtype));
  }
  const Shape &q = ctx.input(kQ).shape, &k = ctx.input(kK).shape, &v = ctx.input(kV).shape;
  const bool packed = q.rank == 3;
  d->batch = q[0];
  d->queries = q[packed ? 1 : 2];
  d->keys = k[packed ? 1 : 2];
  VIREO_TRY(want(ctx, kV, "keys", v[packed ? 1 : 2], d->keys));
  Dim key_head = 0;
  if (packed) {
    if (a.q_heads() < 1 || a.kv_heads() < 1) {
      return ctx.fail(Status::kInvalidModel, "inputs of rank 3 need q_num_heads and kv_num_heads");
    }
    d->q_heads = a.q_heads();
    d->kv_heads = a.kv_heads();
    VIREO_TRY(split(ctx, kQ, d->q_heads, &d->head));
    VIREO_TRY(split(ctx, kK, d->kv_heads, &key_head));
    VIREO_TRY(split(ctx, kV, d->kv_heads, &d->value_head));
  } else {
    d->q_heads = q[1];
    d->kv_heads = k[1];
    d->head = q[3];
    key_head = k[3];
    d->value_head = v[3];
    VIREO_TRY(want(ctx, kV, "heads", v[1], d->kv_heads));
  }
  VIREO_TRY(want(ctx, kK, "the head size", key_head, d->head));
  if (!is_symbolic(d->q_heads) && !is_symbolic(d->kv_heads) && (d->kv_heads == 0 || d->q_heads % d->kv_heads != 0)) {
    return ctx.fail(Status::kInvalidModel, "{} query heads do not divide into groups over {} key heads", d->q_heads,
                    d->kv_heads);
  }
  return Status::kOk;
}

Status check_past(InferContext& ctx, const Dims& d, Dim* past) {
  *past = 0;
  if (ctx.has(kPastKey) != ctx.has(kPastValue)) {
    return ctx.fail(Status::kInvalidModel, "past_key and past_value must be given together");
  }
  if (!ctx.has(kPastKey)) return Status::kOk;
  if (ctx.has(kLengths)) return ctx.fail(Status::kInvalidModel, "nonpad_kv_seqlen cannot be given with past_key");
  *past = ctx.input(kPastKey).shape[2];
  for (int i = kPastKey; i <= kPastValue; ++i) {
    VIREO_TRY(check_rank(ctx, i, 4, 4));
    const Shape& s = ctx.input(i).shape;
    if (ctx.input(i).dtype != ctx.input(i == kPastKey ? kK : kV).dtype) {
      return ctx.fail(Status::kInvalidModel, "input {} is {}", i, dtype_name(ctx.input(i).dtype));
    }
    VIREO_TRY(want(ctx, i, "the batch", s[0], d.batch));
    VIREO_TRY(want(ctx, i, "heads", s[1], d.kv_heads));
    VIREO_TRY(want(ctx, i, "keys", s[2], *past));
    VIREO_TRY(want(ctx, i, "the head size", s[3], i == kPastKey ? d.head : d.value_head));
  }
  return Status::kOk;
}

Status check_mask(InferContext& ctx, const Shape& scores) {
  if (!ctx.has(kMask)) return Status::kOk;
  VIREO_TRY(check_rank(ctx, kMask, 0, 4));
  const TensorType& m = ctx.input(kMask);
  const bool whole_byte = dtype_is_integer(m.dtype) && dtype_bits(m.dtype) >= 8;
  if (m.dtype != DType::kBool && !whole_byte && !is_plain_float(m.dtype)) {
    return ctx.fail(Status::kInvalidModel, "attn_mask is {}", dtype_name(m.dtype));
  }
  for (int i = 0; i < m.shape.rank; ++i) {
    const Dim got = m.shape[i], wanted = scores[4 - m.shape.rank + i];
    const bool last = i == m.shape.rank - 1;
    const bool shorter = last && !is_symbolic(got) && !is_symbolic(wanted) && got < wanted;
    if (got != 1 && !shorter && ctx.differ(got, wanted)) {
      return ctx.fail(Status::kInvalidModel, "attn_mask {} does not broadcast to {}", m.shape, scores);
    }
  }
  return Status::kOk;
}

Status infer_attention(InferContext& ctx) {
  VIREO_TRY(check_attrs(ctx));
  Dims d = {};
  VIREO_TRY(read_dims(ctx, &d));
  Dim past = 0;
  VIREO_TRY(check_past(ctx, d, &past));
  const Dim total = ctx.add(past, d.keys);
  const Shape scores = {4, {d.batch, d.q_heads, d.queries, total}};
  VIREO_TRY(check_mask(ctx, scores));
  if (ctx.has(kLengths)) {
    VIREO_TRY(check_rank(ctx, kLengths, 1, 1));
    if (ctx.input(kLengths).dtype != DType::kI64)
      return ctx.fail(Status::kInvalidModel, "nonpad_kv_seqlen must be int64");
    VIREO_TRY(want(ctx, kLengths, "the length", ctx.input(kLengths).shape[0], d.batch));
  }
  const DType t = ctx.input(kQ).dtype, tv = ctx.input(kV).dtype;
  if (ctx.wants(0)) {
    ctx.output(0) = {t, ctx.input(kQ).shape.rank == 3 ? Shape{3, {d.batch, d.queries, ctx.mul(d.q_heads, d.value_head)}}
                                                      : Shape{4, {d.batch, d.q_heads, d.queries, d.value_head}}};
  }
  if (ctx.wants(1)) ctx.output(1) = {t, Shape{4, {d.batch, d.kv_heads, total, d.head}}};
  if (ctx.wants(2)) ctx.output(2) = {tv, Shape{4, {d.batch, d.kv_heads, total, d.value_head}}};
  if (ctx.wants(3)) ctx.output(3) = {t, scores};
  return Status::kOk;
}

}  // namespace

extern const OpDef kAttentionOp;
const OpDef kAttentionOp = {"Attention",  verify_attrs<attrs::Attention>, infer_attention, 3, 7, 1, 4, OpDef::kPure,
                            /*inplace=*/0};

}  // namespace vireo
