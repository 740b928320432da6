// Opset 24 adds nonpad_kv_seqlen to 23, and 25 the windows; what is absent has the meaning of the newest one's
// defaults. FlexAttention without subgraphs is a further spelling of it; com.microsoft's are in files of their own.
#include <cmath>

#include "sdk/ops/attention/attention_generated.h"
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
