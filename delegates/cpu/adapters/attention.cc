// Attention, float32 or bfloat16, in either layout; also behind the Casts of a composite (fuse_attention): bfloat16, or
// float32 whose keys and values are kept in 16 or 8 bits.
#include <math.h>
#include <string.h>

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/attention/attention.h"
#include "delegates/cpu/kernels/attention/bf16.h"
#include "delegates/cpu/kernels/attention/cached.h"
#include "sdk/composites/attention/attention.h"
#include "sdk/ops/attention/attention.h"

namespace vireo {
namespace {

using composites::FusedAttention;
using composites::kK;
using composites::kLengths;
using composites::kMask;
using composites::kPastKey;
using composites::kPastValue;
using composites::kQ;
using composites::kV;
using composites::match_attention;
using Steps = cpu::AttentionF32::Steps;

Steps steps_of(bool packed, int64_t heads, int64_t rows, int64_t size) {
  return packed ? Steps{heads * size, size, rows * heads * size} : Steps{size, rows * size, heads * rows * size};
}

float scale_of(const attrs::Attention& a, int64_t head) {
  return isnan(a.scale()) ? static_cast<float>(1 / sqrt(static_cast<double>(head))) : a.scale();
}

// Keys and values that are joined with cached ones are read where they are written: in the outputs.
cpu::AttentionF32 shape_of(const attrs::Attention& a, const AttentionExtents& e, bool joined) {
  cpu::AttentionF32 s;
  s.batch = e.batch;
  s.q_heads = e.q_heads;
  s.kv_heads = e.kv_heads;
  s.queries = e.queries;
  s.keys = e.total();
  s.head = e.head;
  s.value_head = e.value_head;
  s.q = steps_of(e.packed, e.q_heads, e.queries, e.head);
  s.k = steps_of(e.packed && !joined, e.kv_heads, e.total(), e.head);
  s.v = steps_of(e.packed && !joined, e.kv_heads, e.total(), e.value_head);
  s.y = steps_of(e.packed, e.q_heads, e.queries, e.value_head);
  s.scale = scale_of(a, e.head);
  s.softcap = a.softcap() > 0 ? a.softcap() : 0;
  s.causal = a.causal();
  s.offset = e.past;
  return s;
}

void set_mask(const Tensor* mask, cpu::AttentionF32* s) {
  if (mask == nullptr) return;
  int64_t* const steps[] = {&s->mask.batches, &s->mask.heads, &s->mask.row};
  const int rank = mask->shape.rank;
  int64_t step = mask->shape[rank - 1];
  for (int i = rank - 2; i >= 0; --i) {
    *steps[4 - rank + i] = mask->shape[i] == 1 ? 0 : step;
    step *= mask->shape[i];
  }
  // Keys behind a shorter mask are not seen.
  if (mask->shape[rank - 1] < s->keys) s->keys = mask->shape[rank - 1];
  if (mask->dtype == DType::kBool) {
    s->allowed = mask->as<const uint8_t>();
  } else {
    s->added = mask->as<const float>();
  }
}

// Heads of keys whose number varies may turn out fewer, and the queries that share one more, than scratch is for.
Status refuse_heads(const KernelContext& ctx, const cpu::AttentionF32& s) {
  return ctx.fail(Status::kUnsupported, "{} heads of queries share {} of keys, prepared for more", s.q_heads,
                  s.kv_heads);
}

// Cached rows, then those of this call: [B, H, T, size].
void join(const KernelContext& ctx, const AttentionExtents& e, const Tensor* past, const Tensor& now, int64_t size,
          float* out) {
  const int64_t total = e.total();
  const Steps from = steps_of(e.packed, e.kv_heads, e.keys, size);
  ctx.parallel.for_range(
      e.batch * e.kv_heads, 1 + (1 << 16) / (total * size + 1), [&](int64_t begin, int64_t end, int32_t) {
        for (int64_t i = begin; i < end; ++i) {
          float* to = out + i * total * size;
          const int64_t cached = e.past * size;
          if (cached > 0) memcpy(to, past->as<const float>() + i * cached, static_cast<size_t>(cached) * sizeof(float));
          const float* rows = now.as<const float>() + i / e.kv_heads * from.batches + i % e.kv_heads * from.heads;
          for (int64_t r = 0; r < e.keys; ++r) {
            memcpy(to + cached + r * size, rows + r * from.row, static_cast<size_t>(size) * sizeof(float));
          }
        }
      });
}

Status run(const KernelContext& ctx, const void*) {
  const Tensor* past = ctx.in(kPastKey);
  const auto& a = ctx.attrs<attrs::Attention>();
  const AttentionExtents e(a, ctx.in(kQ)->shape, ctx.in(kK)->shape, ctx.in(kV)->shape,
                           past == nullptr ? Shape{} : past->shape);
  cpu::AttentionF32 s = shape_of(a, e, past != nullptr);
  if (ctx.out(0)->count() > 0 && cpu::attention_f32_scratch_bytes(s, ctx.parallel.slots) > ctx.scratch.size())
    return refuse_heads(ctx, s);
  const float *k = ctx.in(kK)->as<const float>(), *v = ctx.in(kV)->as<const float>();
  if (ctx.out(1) != nullptr) join(ctx, e, past, *ctx.in(kK), e.head, ctx.out(1)->as<float>());
  if (ctx.out(2) != nullptr) join(ctx, e, ctx.in(kPastValue), *ctx.in(kV), e.value_head, ctx.out(2)->as<float>());
  if (past != nullptr) {
    k = ctx.out(1)->as<const float>();
    v = ctx.out(2)->as<const float>();
  }
  set_mask(ctx.in(kMask), &s);
  cpu::attention_f32(s, ctx.in(kQ)->as<const float>(), k, v, ctx.out(0)->as<float>(), ctx.parallel, ctx.scratch.data());
  return Status::kOk;
}

int64_t scratch_bytes(const CpuQuery& q) {
  const AttentionExtents e(q.attrs<attrs::Attention>(), q.inputs[kQ].type.shape, q.inputs[kK].type.shape,
                           q.inputs[kV].type.shape, q.input_count > kPastKey ? q.inputs[kPastKey].type.shape : Shape{});
  const bool joined = e.past > 0;
  return static_cast<int64_t>(
      cpu::attention_f32_scratch_bytes(shape_of(q.attrs<attrs::Attention>(), e, joined), q.slots));
}

AttentionExtents extents_of(const FusedAttention& f, const Shape& q, const Shape& k, const Shape& v) {
  return AttentionExtents(f.attrs(), q, k, v, Shape{});
}

int64_t bf16_scratch_bytes(const CpuQuery& q) {
  FusedAttention f;
  if (!match_attention(q, &f)) return 0;
  const auto& in = f.inputs;
  cpu::AttentionBf16 s;
  static_cast<cpu::AttentionF32&>(s) =
      shape_of(f.attrs(), extents_of(f, in[kQ].type.shape, in[kK].type.shape, in[kV].type.shape), false);
  return static_cast<int64_t>(cpu::attention_bf16_scratch_bytes(s, q.slots));
}

void prepare_form(const CpuQuery& q, void* state) { (void)match_attention(q, new (state) FusedAttention()); }

Status run_bf16(const KernelContext& ctx, const void* state) {
  const FusedAttention& f = *static_cast<const FusedAttention*>(state);
  const Tensor &q = *f.in(ctx, kQ), &k = *f.in(ctx, kK), &v = *f.in(ctx, kV);
  Tensor& y = *ctx.out(0);
  cpu::AttentionBf16 s;
  static_cast<cpu::AttentionF32&>(s) = shape_of(f.attrs(), extents_of(f, q.shape, k.shape, v.shape), false);
  set_mask(f.in(ctx, kMask), &s);
  s.wide_q = q.dtype == DType::kF32;
  s.wide_k = k.dtype == DType::kF32;
  s.wide_v = v.dtype == DType::kF32;
  s.wide_y = y.dtype == DType::kF32;
  cpu::attention_bf16(s, q.data, k.data, v.data, y.data, ctx.parallel, ctx.scratch.data());
  return Status::kOk;
}

bool cache_type(DType t, cpu::CacheType* out) {
  *out = t == DType::kBF16 ? cpu::CacheType::kBf16 : t == DType::kF16 ? cpu::CacheType::kF16 : cpu::CacheType::kI8;
  return t == DType::kBF16 || t == DType::kF16 || t == DType::kI8;
}

cpu::AttentionCached cached_shape(const FusedAttention& f, const Shape& q, const Shape& k, const Shape& v) {
  cpu::AttentionCached s;
  static_cast<cpu::AttentionF32&>(s) = shape_of(f.attrs(), extents_of(f, q, k, v), false);
  (void)cache_type(f.inputs[kK].type.dtype, &s.type);
  const Steps a_row = {1, s.keys, s.kv_heads * s.keys};
  if (f.blocks[0] > 0) s.k_scales = a_row;
  if (f.blocks[1] > 0) s.v_scales = a_row;
  return s;
}

int64_t cached_scratch_bytes(const CpuQuery& q) {
  FusedAttention f;
  if (!match_attention(q, &f)) return 0;
  const auto& in = f.inputs;
  return static_cast<int64_t>(cpu::attention_cached_scratch_bytes(
      cached_shape(f, in[kQ].type.shape, in[kK].type.shape, in[kV].type.shape), q.slots));
}

Status run_cached(const KernelContext& ctx, const void* state) {
  const FusedAttention& f = *static_cast<const FusedAttention*>(state);
  const Tensor &q = *f.in(ctx, kQ), &k = *f.in(ctx, kK), &v = *f.in(ctx, kV);
  cpu::AttentionCached s = cached_shape(f, q.shape, k.shape, v.shape);
  if (ctx.out(0)->count() > 0 && cpu::attention_cached_scratch_bytes(s, ctx.parallel.slots) > ctx.scratch.size())
    return refuse_heads(ctx, s);
  set_mask(f.in(ctx, kMask), &s);
  if (f.scales[0].given()) s.k_scale = f.scales[0].f32(ctx);
  if (f.scales[1].given()) s.v_scale = f.scales[1].f32(ctx);
  cpu::attention_cached(s, q.as<const float>(), k.data, v.data, ctx.out(0)->as<float>(), ctx.parallel,
                        ctx.scratch.data());
  return Status::kOk;
}

constexpr CpuKernel kAttention = {"attention_f32", 0, scratch_bytes, nullptr, run};
constexpr CpuKernel kAttentionBf16 = {"attention_bf16", sizeof(FusedAttention), bf16_scratch_bytes, prepare_form,
                                      run_bf16};
constexpr CpuKernel kAttentionCached = {"attention_cached", sizeof(FusedAttention), cached_scratch_bytes, prepare_form,
                                        run_cached};

// What either kernel asks for; null: nothing is against it.
const char* refusal(const CpuQuery& q, const FusedAttention& f) {
  const auto wanted = [&](uint32_t o) { return o < q.output_count && q.outputs[o].type.dtype != DType::kNone; };
  const auto& a = f.attrs();
  if (a.left_window() >= 0 || a.right_window() >= 0 || f.given(kLengths) || wanted(3))
    return "tuned without windows, lengths and told scores";
  // tanh(scale / softcap q k): the quotient is one number of the product.
  const Shape& query = f.inputs[kQ].type.shape;
  const int64_t head = query.rank == 3 ? query[2] / a.q_heads() : query[3];
  if (a.softcap() > 0 && !isnormal(scale_of(a, head) / a.softcap()))
    return "tuned for a soft cap over which the scale is a normal number";
  if (f.given(kMask)) {
    const TensorType& m = f.inputs[kMask].type;
    if ((m.dtype != DType::kF32 && m.dtype != DType::kBool) || m.shape.rank < 1)
      return "tuned for a mask of float32 or bool that lists the keys";
  }
  return nullptr;
}

const CpuKernel* choose_bf16(const CpuQuery& q, const FusedAttention& f, const char** reason) {
  const auto either = [](const TensorType& t) { return t.dtype == DType::kF32 || t.dtype == DType::kBF16; };
  for (const int i : {kQ, kK, kV}) {
    *reason = "tuned for operands of float32 or bfloat16";
    if (!either(f.inputs[i].type)) return nullptr;
  }
  *reason = "in bfloat16, tuned without cached keys, and for y alone";
  if (f.given(kPastKey) || q.output_count != 1 || !either(q.outputs[0].type)) return nullptr;
  *reason = "in bfloat16, tuned for values of the keys' size";  // y may lie on q
  if (f.is_body && !(q.outputs[0].type.shape == f.inputs[kQ].type.shape)) return nullptr;
  *reason = refusal(q, f);
  if (*reason != nullptr) return nullptr;
  *reason = "";
  return &kAttentionBf16;
}

const CpuKernel* choose_cached(const CpuQuery& q, const FusedAttention& f, const char** reason) {
  const DType k = f.inputs[kK].type.dtype;
  cpu::CacheType type;
  *reason = "tuned for keys and values of one type, bfloat16, float16 or int8 with a scale a row";
  if (k != f.inputs[kV].type.dtype || !cache_type(k, &type)) return nullptr;
  if (f.scales[0].given() != (k == DType::kI8) || f.scales[1].given() != (k == DType::kI8)) return nullptr;
  *reason = "behind Casts, tuned without cached keys of its own, and for y alone, of float32";
  if (f.given(kPastKey) || q.output_count != 1 || q.outputs[0].type.dtype != DType::kF32) return nullptr;
  *reason = "behind Casts, tuned for values of the keys' size";  // y may lie on q
  if (f.inputs[kQ].type.dtype != DType::kF32 || !(q.outputs[0].type.shape == f.inputs[kQ].type.shape)) return nullptr;
  *reason = refusal(q, f);
  if (*reason != nullptr) return nullptr;
  *reason = "";
  return &kAttentionCached;
}

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  FusedAttention f;
  *reason = "";  // another body is another kernel's
  if (!match_attention(q, &f)) return nullptr;
  if (f.computed == DType::kBF16) return choose_bf16(q, f, reason);
  if (f.is_body) return choose_cached(q, f, reason);
  const auto wanted = [&](uint32_t o) { return o < q.output_count && q.outputs[o].type.dtype != DType::kNone; };
  for (const int i : {kQ, kK, kV, kPastKey, kPastValue}) {
    *reason = "tuned for float32 and bfloat16 alone";
    if (f.given(i) && f.inputs[i].type.dtype != DType::kF32) return nullptr;
  }
  *reason = refusal(q, f);
  if (*reason != nullptr) return nullptr;
  *reason = "tuned for cached keys whose joined form is an output";
  if (f.given(kPastKey) && !(wanted(1) && wanted(2))) return nullptr;
  *reason = "";
  return &kAttention;
}

}  // namespace

extern const CpuOp kCpuOp_attention;
const CpuOp kCpuOp_attention = {"attention", choose};

}  // namespace vireo
