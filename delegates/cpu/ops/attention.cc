// Attention, float32, in either layout.
#include <math.h>
#include <string.h>

#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/attention/attention.h"
#include "sdk/ops/attention/attention.h"

namespace vireo {
namespace {

enum Input { kQ, kK, kV, kMask, kPastKey, kPastValue, kLengths };

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
  const float *k = ctx.in(kK)->as<const float>(), *v = ctx.in(kV)->as<const float>();
  if (ctx.out(1) != nullptr) join(ctx, e, past, *ctx.in(kK), e.head, ctx.out(1)->as<float>());
  if (ctx.out(2) != nullptr) join(ctx, e, ctx.in(kPastValue), *ctx.in(kV), e.value_head, ctx.out(2)->as<float>());
  if (past != nullptr) {
    k = ctx.out(1)->as<const float>();
    v = ctx.out(2)->as<const float>();
  }
  cpu::AttentionF32 s = shape_of(a, e, past != nullptr);
  if (const Tensor* mask = ctx.in(kMask)) {
    int64_t* const steps[] = {&s.mask.batches, &s.mask.heads, &s.mask.row};
    const int rank = mask->shape.rank;
    int64_t step = mask->shape[rank - 1];
    for (int i = rank - 2; i >= 0; --i) {
      *steps[4 - rank + i] = mask->shape[i] == 1 ? 0 : step;
      step *= mask->shape[i];
    }
    // Keys behind a shorter mask are not seen.
    if (mask->shape[rank - 1] < s.keys) s.keys = mask->shape[rank - 1];
    if (mask->dtype == DType::kBool) {
      s.allowed = mask->as<const uint8_t>();
    } else {
      s.added = mask->as<const float>();
    }
  }
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

constexpr CpuKernel kAttention = {"attention_f32", 0, scratch_bytes, nullptr, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const auto given = [&](uint32_t i) { return i < q.input_count && q.inputs[i].type.dtype != DType::kNone; };
  const auto wanted = [&](uint32_t o) { return o < q.output_count && q.outputs[o].type.dtype != DType::kNone; };
  *reason = "tuned for float32 alone";
  for (const uint32_t i : {kQ, kK, kV, kPastKey, kPastValue}) {
    if (given(i) && q.inputs[i].type.dtype != DType::kF32) return nullptr;
  }
  const auto& a = q.attrs<attrs::Attention>();
  *reason = "tuned without windows, lengths and told scores";
  if (a.left_window() >= 0 || a.right_window() >= 0 || given(kLengths) || wanted(3)) return nullptr;
  // tanh(scale / softcap q k): the quotient is one number of the product.
  *reason = "tuned for a soft cap over which the scale is a normal number";
  const Shape& query = q.inputs[kQ].type.shape;
  const int64_t head = query.rank == 3 ? query[2] / a.q_heads() : query[3];
  if (a.softcap() > 0 && !isnormal(scale_of(a, head) / a.softcap())) return nullptr;
  *reason = "tuned for cached keys whose joined form is an output";
  if (given(kPastKey) && !(wanted(1) && wanted(2))) return nullptr;
  if (given(kMask)) {
    const TensorType& m = q.inputs[kMask].type;
    *reason = "tuned for a mask of float32 or bool that lists the keys";
    if ((m.dtype != DType::kF32 && m.dtype != DType::kBool) || m.shape.rank < 1) return nullptr;
  }
  *reason = "";
  return &kAttention;
}

constexpr Op kOps[] = {Op::kAttention};

}  // namespace

extern const CpuOp kCpuOp_attention;
const CpuOp kCpuOp_attention = {"attention", choose, Span<const Op>(kOps)};

}  // namespace vireo
