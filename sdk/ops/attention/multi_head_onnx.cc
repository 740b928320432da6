// com.microsoft MultiHeadAttention: 0 query, 1 key, 2 value, 3 bias of the projections, 4 key_padding_mask,
// 5 attention_bias, 6 past_key, 7 past_value; 8 and 9 serve beam search.
//   query [B, S, H D] with key, value [B, L, H D] or [B, H, L, D], or key [B, L, H, 2, D] for both;
//   or query [B, S, H, 3, D] for all three
// DecoderMaskedMultiHeadAttention: the same for one query; 3 mask, 4 attention_bias, 5 past_key, 6 past_value, 10 bias;
// 7 to 9 serve caches of a fixed length.
// Source: ONNX Runtime, ContribOperators.md "MultiHeadAttention", "DecoderMaskedMultiHeadAttention".
#include "sdk/ops/attention/contrib_import.h"

namespace vireo {
namespace {

// Part `i` of [B, S, H, n, D] as [B, S, H D].
Value part_of(ContribAttention& a, Value packed, int64_t i) {
  const Value part = a.steps.slice(packed, 3, a.steps.i64({i}), a.steps.i64({i + 1}));
  return a.steps.reshape(part, {0, 0, -1});
}

bool is_packed(const TensorType& t, Dim parts, Dim heads) {
  return t.shape.rank == 5 && t.shape[3] == parts && t.shape[2] == heads;
}

Status read_projections(ContribAttention& a) {
  ImportContext& ctx = a.ctx;
  a.q = ctx.input(0);
  a.k = ctx.input(1);
  a.v = ctx.input(2);
  const Value given[3] = {a.q, a.k, a.v};
  const int rank = ctx.type(a.q).shape.rank;
  if (a.q && !a.k && !a.v && is_packed(ctx.type(a.q), 3, a.heads)) {
    a.q = part_of(a, given[0], 0);
    a.k = part_of(a, given[0], 1);
    a.v = part_of(a, given[0], 2);
  } else if (a.q && a.k && !a.v && rank == 3 && is_packed(ctx.type(a.k), 2, a.heads)) {
    a.k = part_of(a, given[1], 0);
    a.v = part_of(a, given[1], 1);
  } else {
    const int keys = a.k ? ctx.type(a.k).shape.rank : 0, values = a.v ? ctx.type(a.v).shape.rank : 0;
    if (rank != 3 || (keys != 3 && keys != 4) || values != keys) {
      return ctx.fail(Status::kInvalidModel,
                      "query, key and value of ranks " + std::to_string(rank) + ", " + std::to_string(keys) + ", " +
                          std::to_string(values) +
                          ": wanted three of [batch, sequence, hidden]; or one or two that are packed as [batch, "
                          "sequence, heads, 3 or 2, head size]; or key and value as [batch, heads, sequence, head "
                          "size]");
    }
  }
  return a.q && a.k && a.v ? Status::kOk : Status::kInvalidModel;
}

// x + its part of the bias, which holds the query's, the key's and the value's one behind the other. Keys and values
// by heads were projected before, and have theirs.
Status add_bias(ContribAttention& a, int input) {
  ImportContext& ctx = a.ctx;
  const Value bias = ctx.input(input);
  if (!bias) return Status::kOk;
  Value* const parts[3] = {&a.q, &a.k, &a.v};
  int64_t begin = 0;
  for (Value* x : parts) {
    const TensorType t = ctx.type(*x);
    Dim width = t.shape[2];
    if (t.shape.rank == 4 && !is_symbolic(t.shape[1]) && !is_symbolic(t.shape[3])) width = t.shape[1] * t.shape[3];
    const TensorType b = ctx.type(bias);
    if (b.shape.rank != 1 || b.dtype != t.dtype || is_symbolic(width) ||
        (!is_symbolic(b.shape[0]) && begin + width > b.shape[0])) {
      return ctx.fail(Status::kInvalidModel,
                      "the bias does not hold one value for each column of query, key and value");
    }
    if (t.shape.rank == 3) {
      *x = a.steps.add(*x, a.steps.slice(bias, 0, a.steps.i64({begin}), a.steps.i64({begin + width})));
      if (!*x) return Status::kInvalidModel;
    }
    begin += width;
  }
  return Status::kOk;
}

// Where its inputs stand; those of `fixed` and behind it, but for the bias, serve caches of a fixed length.
struct Places {
  int bias, mask, score_bias, past, fixed;
};

Status import_places(ImportContext& ctx, const Places& at) {
  ContribAttention a(ctx);
  VIREO_TRY(a.read_heads());
  for (int i = at.fixed; i < ctx.input_count(); ++i) {
    if (!ctx.input(i) || i == at.bias) continue;
    return ctx.fail(Status::kUnsupported,
                    "input " + std::to_string(i) + ", for caches of a fixed length in beam search",
                    "export the model with past_key and past_value that grow");
  }
  if (ctx.wants_output(3)) return ctx.fail(Status::kUnsupported, "output 3, the scores", "export the model without it");
  VIREO_TRY(read_projections(a));
  VIREO_TRY(add_bias(a, at.bias));
  a.past_key = ctx.input(at.past);
  a.past_value = ctx.input(at.past + 1);
  for (const Value past : {a.past_key, a.past_value}) {
    if (past && ctx.type(past).shape.rank != 4) {
      return ctx.fail(Status::kInvalidModel, "past_key or past_value is of rank " +
                                                 std::to_string(ctx.type(past).shape.rank) +
                                                 ", wanted [batch, heads, sequence, head size]");
    }
  }
  const bool by_heads = ctx.type(a.k).shape.rank == 4;
  if (by_heads) a.q = a.steps.transpose(a.steps.reshape(a.q, {0, 0, a.heads, -1}), {0, 2, 1, 3});
  if (!a.q) return Status::kInvalidModel;
  VIREO_TRY(a.add_masks(at.mask, at.score_bias));
  const int outputs = ctx.wants_output(2) ? 3 : ctx.wants_output(1) ? 2 : 1;
  std::vector<Value> out = a.finish(outputs);
  if (out.empty()) return Status::kInvalidModel;
  if (by_heads) out[0] = a.steps.reshape(a.steps.transpose(out[0], {0, 2, 1, 3}), {0, 0, -1});
  for (int i = 0; i < outputs; ++i) ctx.set_output(i, out[static_cast<size_t>(i)]);
  return out[0] ? Status::kOk : Status::kInvalidModel;
}

Status import_multi_head(ImportContext& ctx) { return import_places(ctx, {3, 4, 5, 6, 8}); }

// One query sees all keys that there are.
Status import_decoder(ImportContext& ctx) {
  if (ctx.attr_int("past_present_share_buffer", 0) != 0) {
    return ctx.fail(Status::kUnsupported, "past_present_share_buffer, caches of a fixed length",
                    "export the model with past_key and past_value that grow");
  }
  return import_places(ctx, {10, 3, 4, 5, 7});
}

}  // namespace

extern const OnnxImport kDecoderMaskedMultiHeadAttentionOnnx;
const OnnxImport kDecoderMaskedMultiHeadAttentionOnnx = {"com.microsoft", "DecoderMaskedMultiHeadAttention",
                                                         import_decoder};
extern const OnnxImport kMsMultiHeadAttentionOnnx;
const OnnxImport kMsMultiHeadAttentionOnnx = {"com.microsoft", "MultiHeadAttention", import_multi_head};

}  // namespace vireo
