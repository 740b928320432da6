#include "sdk/ops/linear_attention/linear_attention_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_linear_attention(ImportContext& ctx) {
  attrs::LinearAttentionT a;
  const std::string rule = ctx.attr_string("update_rule", "gated_delta");
  if (rule == "linear") {
    a.rule = attrs::LinearAttentionRule::Linear;
  } else if (rule == "gated") {
    a.rule = attrs::LinearAttentionRule::Gated;
  } else if (rule == "delta") {
    a.rule = attrs::LinearAttentionRule::Delta;
  } else if (rule != "gated_delta") {
    return ctx.fail(Status::kInvalidModel, "update_rule '" + rule + "' is not linear, gated, delta or gated_delta");
  }
  a.q_heads = ctx.attr_int32("q_num_heads", 0);
  a.kv_heads = ctx.attr_int32("kv_num_heads", 0);
  a.scale = ctx.attr_float("scale", 0);
  return import_direct(ctx, Op::kLinearAttention, pack<attrs::LinearAttention>(a));
}

}  // namespace

extern const OnnxImport kLinearAttentionOnnx;
const OnnxImport kLinearAttentionOnnx = {"", "LinearAttention", import_linear_attention};

Status export_linear_attention(ExportContext& ctx) {
  const char* const rules[] = {"linear", "gated", "delta", "gated_delta"};
  const auto& a = ctx.attrs<attrs::LinearAttention>();
  OnnxNode n = ctx.same().text("update_rule", rules[static_cast<size_t>(a.rule())]).needs(27);
  n.number("q_num_heads", a.q_heads()).number("kv_num_heads", a.kv_heads());
  if (a.scale() != 0) n.real("scale", a.scale());
  return ctx.done(std::move(n));
}

}  // namespace vireo
