// Opset 24 adds nonpad_kv_seqlen to 23, and 25 the windows; what is absent has the meaning of the newest one's
// defaults. FlexAttention without subgraphs and ONNX Runtime's MultiHeadAttention without padding mask are further
// spellings of it.
#include <cmath>
#include <cstring>

#include "sdk/ops/attention/attention_generated.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import(ImportContext& ctx) {
  attrs::AttentionT a;
  a.q_heads = static_cast<int32_t>(ctx.attr_int("q_num_heads", 0));
  a.kv_heads = static_cast<int32_t>(ctx.attr_int("kv_num_heads", 0));
  a.scale = ctx.attr_float("scale", std::nanf(""));
  a.softcap = ctx.attr_float("softcap", 0);
  a.causal = ctx.attr_int("is_causal", 0) != 0;
  a.left_window = static_cast<int32_t>(ctx.attr_int("left_window_size", -1));
  a.right_window = static_cast<int32_t>(ctx.attr_int("right_window_size", -1));
  const int64_t mode = ctx.attr_int("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) {
    return ctx.fail(Status::kInvalidModel, "qk_matmul_output_mode is " + std::to_string(mode) + ", wanted 0 to 3");
  }
  a.scores = static_cast<attrs::AttentionScores>(mode);
  return import_direct(ctx, Op::kAttention, pack<attrs::Attention>(a));
}

Status import_flex(ImportContext& ctx) {
  for (const char* part : {"score_mod", "prob_mod"}) {
    if (!ctx.has_attr(part)) continue;
    return ctx.fail(Status::kUnsupported, std::string("the subgraph ") + part,
                    "export the attention as MatMul, the subgraph's operators and Softmax");
  }
  attrs::AttentionT a;
  a.scale = ctx.attr_float("scale", std::nanf(""));
  return import_direct(ctx, Op::kAttention, pack<attrs::Attention>(a));
}

// x + its part of a constant bias that holds the query's, the key's and the value's one behind the other.
Status add_bias(ImportContext& ctx, const ConstTensor& bias, int64_t* begin, Value* x) {
  const TensorType t = ctx.type(*x);
  const int64_t width = t.shape[t.shape.rank - 1];
  if (is_symbolic(width) || *begin + width > bias.count() || bias.type.dtype != t.dtype) {
    return ctx.fail(Status::kInvalidModel, "bias has " + std::to_string(bias.count()) + " values of " +
                                               dtype_name(bias.type.dtype) +
                                               ", too few or of another type than the input");
  }
  const auto size = static_cast<size_t>(dtype_bits(t.dtype) / 8);
  std::vector<uint8_t> part(static_cast<size_t>(width) * size);
  std::memcpy(part.data(), bias.bytes.data() + static_cast<size_t>(*begin) * size, part.size());
  *begin += width;
  *x = ctx.emit1(Op::kAdd, pack<attrs::Binary>(attrs::BinaryT{}),
                 {*x, ctx.add_constant({t.dtype, Shape{1, {width}}}, part)});
  return *x ? Status::kOk : Status::kInvalidModel;
}

// com.microsoft: query, key, value [B, S, hidden], bias, key_padding_mask, attention_bias, past_key, past_value.
Status import_multi_head(ImportContext& ctx) {
  Value in[3] = {ctx.input(0), ctx.input(1), ctx.input(2)};
  for (const Value& v : in) {
    if (v && ctx.type(v).shape.rank == 3) continue;
    return ctx.fail(Status::kUnsupported, "a query, key or value that is absent, packed or of rank 4",
                    "export with three inputs of [batch, sequence, hidden]");
  }
  if (ctx.input(4)) {
    return ctx.fail(Status::kUnsupported, "key_padding_mask",
                    "fold the mask into attention_bias, or export before the fusion");
  }
  for (int i = 8; i < ctx.input_count(); ++i) {
    if (ctx.input(i))
      return ctx.fail(Status::kUnsupported, "input " + std::to_string(i) + ", for decoders with beam search");
  }
  if (ctx.input(3)) {
    const ConstTensor* bias = ctx.constant(ctx.input(3));
    if (bias == nullptr) return ctx.fail(Status::kUnsupported, "a bias that is computed", "make the bias a constant");
    int64_t begin = 0;
    for (Value& v : in) VIREO_TRY(add_bias(ctx, *bias, &begin, &v));
  }
  attrs::AttentionT a;
  a.q_heads = a.kv_heads = static_cast<int32_t>(ctx.attr_int("num_heads", 0));
  a.causal = ctx.attr_int("unidirectional", 0) != 0;
  const float scale = ctx.attr_float("scale", 0);
  a.scale = scale == 0 ? std::nanf("") : scale;
  std::vector<Value> inputs = {in[0], in[1], in[2], ctx.input(5), ctx.input(6), ctx.input(7)};
  while (!inputs.back()) inputs.pop_back();
  int outputs = ctx.output_count();
  while (outputs > 1 && !ctx.wants_output(outputs - 1)) --outputs;
  if (outputs > 3) return ctx.fail(Status::kUnsupported, "output 3, the scores");
  const std::vector<Value> out = ctx.emit(Op::kAttention, pack<attrs::Attention>(a), std::move(inputs), outputs);
  if (out.empty()) return Status::kInvalidModel;
  for (int i = 0; i < outputs; ++i) ctx.set_output(i, out[static_cast<size_t>(i)]);
  return Status::kOk;
}

// A mask of one row is for all queries. ONNX Runtime asks for a row of each, so it gets them.
std::string export_mask(ExportContext& ctx) {
  const Shape &mask = ctx.input_type(3).shape, &q = ctx.input_type(0).shape;
  if (ctx.input(3).empty() || mask.rank < 2 || mask[mask.rank - 2] != 1 || q[q.rank - 2] == 1) return ctx.input(3);
  OnnxNode rows = ExportContext::node("Shape", {ctx.input(0)});
  rows.number("start", q.rank - 2).number("end", q.rank - 1);
  OnnxNode shape = ExportContext::node("Concat", {ctx.step(std::move(rows)), ctx.add_i64({1})});
  return ctx.step("Expand", {ctx.input(3), ctx.step(std::move(shape.number("axis", 0)))});
}

}  // namespace

extern const OnnxImport kAttentionOnnx;
const OnnxImport kAttentionOnnx = {"", "Attention", import};
extern const OnnxImport kFlexAttentionOnnx;
const OnnxImport kFlexAttentionOnnx = {"ai.onnx.preview", "FlexAttention", import_flex};
extern const OnnxImport kMsMultiHeadAttentionOnnx;
const OnnxImport kMsMultiHeadAttentionOnnx = {"com.microsoft", "MultiHeadAttention", import_multi_head};

Status export_attention(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Attention>();
  OnnxNode n = ctx.same().needs(ctx.input(6).empty() ? 23 : 24);
  if (n.inputs.size() > 3) n.inputs[3] = export_mask(ctx);
  if (a.q_heads() != 0) n.number("q_num_heads", a.q_heads());
  if (a.kv_heads() != 0) n.number("kv_num_heads", a.kv_heads());
  if (!std::isnan(a.scale())) n.real("scale", a.scale());
  if (a.softcap() != 0) n.real("softcap", a.softcap());
  n.flag("is_causal", a.causal());
  if (a.left_window() != -1 || a.right_window() != -1)
    n.number("left_window_size", a.left_window()).number("right_window_size", a.right_window()).needs(25);
  if (a.scores() != attrs::AttentionScores::Raw) n.number("qk_matmul_output_mode", static_cast<int64_t>(a.scores()));
  return ctx.done(std::move(n));
}

}  // namespace vireo
