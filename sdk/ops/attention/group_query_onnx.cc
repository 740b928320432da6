// com.microsoft GroupQueryAttention: 0 query, 1 key, 2 value [B, S, heads D] (or all of them packed in 0), 3, 4 past
// [B, Hkv, P, D], 5 seqlens_k [B] (tokens of each batch, this call's included, less one), 6 total_sequence_length (the
// largest of them), 7, 8 cos and sin tables, 9 position_ids, 10 attention_bias.
//   first = max(seqlens_k + 1 - S, 0), the position of a batch's first query
//   cache = past, made as long as total_sequence_length where it is shorter, with this call's keys written at first
//   y     = Attention(query, cache; lengths first + S), causal; present is the cache
// So a cache that grows and a buffer that is as long as it will ever be are one form, and batches may be of different
// lengths. Rows of a query that is padding have no meaning, here as there.
// Source: ONNX Runtime, ContribOperators.md "GroupQueryAttention"; Ainslie et al. 2023, arXiv:2305.13245.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sdk/ops/attention/attention_generated.h"
#include "sdk/ops/rotary_embedding/rotary_embedding_generated.h"
#include "sdk/ops/scatter/scatter_generated.h"
#include "sdk/ops/shared/steps_import.h"

namespace vireo {
namespace {

enum Input {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,
  kTotal,
  kCos,
  kSin,
  kPositions,
  kBias,
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm,
};

struct Group {
  explicit Group(ImportContext& context) : ctx(context), steps(context) {}

  ImportContext& ctx;
  Steps steps;
  int64_t heads = 0, kv_heads = 0;
  Value q, k, v;
  Value first;    // [B], i64
  Value queries;  // S, i64 [1]
};

Status check(ImportContext& ctx) {
  const char* what = ctx.input(kSink)                                 ? "head_sink"
                     : ctx.input(kKeyScale) || ctx.input(kValueScale) ? "a quantized cache"
                     : ctx.input(kQueryNorm) || ctx.input(kKeyNorm)   ? "a normalisation of queries and keys"
                     : ctx.attr_int("smooth_softmax", 0) > 0          ? "smooth_softmax"
                     : ctx.attr_int("sliding_window_cache", 0) != 0   ? "sliding_window_cache"
                     : ctx.wants_output(3)                            ? "output 3, the scores"
                                                                      : nullptr;
  if (what != nullptr) {
    return ctx.fail(Status::kUnsupported, what, "export the model without it, or with the attention spelled out");
  }
  for (const int i : {kQuery, kLengths, kTotal}) {
    if (ctx.input(i)) continue;
    return ctx.fail(Status::kInvalidModel, "input " + std::to_string(i) + " is missing");
  }
  for (const auto& [a, b] : {std::pair(kKey, kValue), std::pair(kPastKey, kPastValue), std::pair(kCos, kSin)}) {
    if (static_cast<bool>(ctx.input(a)) == static_cast<bool>(ctx.input(b))) continue;
    return ctx.fail(Status::kInvalidModel,
                    "one of inputs " + std::to_string(a) + " and " + std::to_string(b) + " is missing");
  }
  for (const int i : {kLengths, kTotal}) {
    if (ctx.type(ctx.input(i)).dtype == DType::kI32) continue;
    return ctx.fail(Status::kInvalidModel, "input " + std::to_string(i) + " is " +
                                               dtype_name(ctx.type(ctx.input(i)).dtype) + ", wanted int32");
  }
  return Status::kOk;
}

Status read_projections(Group& g) {
  ImportContext& ctx = g.ctx;
  g.heads = ctx.attr_int("num_heads", 0);
  g.kv_heads = ctx.attr_int("kv_num_heads", 0);
  if (g.heads < 1 || g.kv_heads < 1 || g.heads > std::numeric_limits<int16_t>::max() || g.heads % g.kv_heads != 0) {
    return ctx.fail(Status::kInvalidModel, "num_heads " + std::to_string(g.heads) + " and kv_num_heads " +
                                               std::to_string(g.kv_heads) + " do not make groups");
  }
  g.q = ctx.input(kQuery);
  g.k = ctx.input(kKey);
  g.v = ctx.input(kValue);
  for (const Value v : {g.q, g.k, g.v}) {
    if (!v || ctx.type(v).shape.rank == 3) continue;
    return ctx.fail(Status::kInvalidModel, "query, key or value is of rank " + std::to_string(ctx.type(v).shape.rank) +
                                               ", wanted [batch, sequence, hidden]");
  }
  if (!g.k) {
    const Dim all = ctx.type(g.q).shape[2];
    const int64_t rows = g.heads + 2 * g.kv_heads;
    if (is_symbolic(all) || all % rows != 0) {
      return ctx.fail(Status::kInvalidModel,
                      "packed columns of query, key and value that are not " + std::to_string(rows) + " heads");
    }
    const int64_t head = all / rows;
    const std::vector<Value> parts = g.steps.split(g.q, 2, {g.heads * head, g.kv_heads * head, g.kv_heads * head});
    g.q = parts[0];
    g.k = parts[1];
    g.v = parts[2];
    if (!g.q) return Status::kInvalidModel;
  }
  g.queries = g.steps.shape(g.q, 1, 2);
  const Value lengths = g.steps.add(g.steps.cast(g.steps.reshape(ctx.input(kLengths), {-1}), DType::kI64),
                                    g.steps.scalar(DType::kI64, 1));
  g.first = g.steps.maximum(g.steps.sub(lengths, g.queries), g.steps.scalar(DType::kI64, 0));
  return g.first ? Status::kOk : Status::kInvalidModel;
}

Status rotate(Group& g) {
  ImportContext& ctx = g.ctx;
  if (ctx.attr_int("do_rotary", 0) == 0) return Status::kOk;
  if (!ctx.input(kCos) || ctx.type(ctx.input(kCos)).shape.rank != 2 ||
      is_symbolic(ctx.type(ctx.input(kCos)).shape[1])) {
    return ctx.fail(Status::kInvalidModel, "do_rotary asks for cos_cache and sin_cache of [positions, half of a head]");
  }
  Value at = ctx.input(kPositions);
  if (!at) at = g.steps.add(g.steps.unsqueeze(g.first, {1}), g.steps.range(g.queries));
  for (Value* x : {&g.q, &g.k}) {
    attrs::RotaryEmbeddingT a;
    a.heads = static_cast<int32_t>(x == &g.q ? g.heads : g.kv_heads);
    a.rotated = static_cast<int32_t>(2 * ctx.type(ctx.input(kCos)).shape[1]);
    a.interleaved = ctx.attr_int("rotary_interleaved", 0) != 0;
    *x = g.steps.one(Op::kRotaryEmbedding, pack<attrs::RotaryEmbedding>(a), {*x, ctx.input(kCos), ctx.input(kSin), at});
    if (!*x) return Status::kInvalidModel;
  }
  return Status::kOk;
}

// [B, S, H D] as [B, H, S, D]. `heads_and_size` are numbers where they can be, so that shapes stay known.
Value by_heads(Group& g, Value x, int64_t heads) {
  const Dim width = g.ctx.type(x).shape[2];
  const int64_t size = is_symbolic(width) || width % heads != 0 ? -1 : width / heads;
  return g.steps.transpose(g.steps.reshape(x, {0, 0, heads, size}), {0, 2, 1, 3});
}

// `past`, as long as the call needs it, with `now` written at each batch's first position.
Value cached(Group& g, Value past, Value now, bool grows) {
  Steps& s = g.steps;
  if (grows) {
    const Value length = s.shape(past, 2, 3);
    const Value total = s.cast(s.reshape(g.ctx.input(kTotal), {1}), DType::kI64);
    const Value more = s.sub(s.maximum(total, length), length);
    const Value none =
        s.expand(s.scalar(g.ctx.type(past).dtype, 0), s.concat({s.shape(past, 0, 2), more, s.shape(past, 3, 4)}, 0));
    past = s.concat({past, none}, 2);
  }
  attrs::TensorScatterT a;
  a.axis = 2;
  return s.one(Op::kTensorScatter, pack<attrs::TensorScatter>(a), {past, now, g.first});
}

Status import_group_query(ImportContext& ctx) {
  VIREO_TRY(check(ctx));
  Group g(ctx);
  VIREO_TRY(read_projections(g));
  VIREO_TRY(rotate(g));
  const Value past = ctx.input(kPastKey);
  Value k = by_heads(g, g.k, g.kv_heads), v = by_heads(g, g.v, g.kv_heads), lengths;
  attrs::AttentionT a;
  a.causal = ctx.attr_int("causal", 1) != 0;
  a.softcap = ctx.attr_float("softcap", 0);
  const float scale = ctx.attr_float("scale", 0);
  a.scale = scale == 0 ? std::nanf("") : scale;
  const int64_t window = ctx.attr_int("local_window_size", -1);
  if (window > 0) a.left_window = static_cast<int32_t>(std::min<int64_t>(window, INT32_MAX) - 1);
  if (past && ctx.type(past).shape.rank == 4 && ctx.type(past).shape[2] != 0) {
    const bool grows = ctx.knows_elements(ctx.input(kTotal));
    if (!grows) {
      ctx.assume(
          "total_sequence_length is computed, so its past is taken as a buffer that holds all tokens; a run fails "
          "where it is shorter than that length",
          "export the model with total_sequence_length from a shape if past_key and past_value grow");
    }
    k = cached(g, past, k, grows);
    v = cached(g, ctx.input(kPastValue), v, grows);
    lengths = g.steps.add(g.first, g.queries);
    // The standard asks for the batch's length, which seqlens_k may hide.
    if (!is_symbolic(ctx.type(g.q).shape[0])) lengths = g.steps.reshape(lengths, {ctx.type(g.q).shape[0]});
    if (!lengths) return Status::kInvalidModel;
  } else if (past && ctx.type(past).shape.rank != 4) {
    return ctx.fail(Status::kInvalidModel, "past_key is of rank " + std::to_string(ctx.type(past).shape.rank) +
                                               ", wanted [batch, heads, sequence, head size]");
  }
  const Value q = by_heads(g, g.q, g.heads);
  if (!q || !k || !v) return Status::kInvalidModel;
  std::vector<Value> inputs = {q, k, v, ctx.input(kBias), {}, {}, lengths};
  while (!inputs.back()) inputs.pop_back();
  const Value y = ctx.emit1(Op::kAttention, pack<attrs::Attention>(a), std::move(inputs));
  const Value joined = g.steps.reshape(g.steps.transpose(y, {0, 2, 1, 3}), {0, 0, -1});
  if (!joined) return Status::kInvalidModel;
  ctx.set_output(0, joined);
  ctx.set_output(1, k);
  ctx.set_output(2, v);
  return Status::kOk;
}

}  // namespace

extern const OnnxImport kGroupQueryAttentionOnnx;
const OnnxImport kGroupQueryAttentionOnnx = {"com.microsoft", "GroupQueryAttention", import_group_query};

}  // namespace vireo
