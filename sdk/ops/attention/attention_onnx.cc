// Opset 24 adds nonpad_kv_seqlen to 23, and 25 the windows; what is absent has the meaning of the newest one's defaults.
#include <cmath>

#include "sdk/ops/attention/attention_generated.h"
#include "sdk/ops/view.h"

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

}  // namespace

extern const OnnxImport kAttentionOnnx;
const OnnxImport kAttentionOnnx = {"", "Attention", import};

}  // namespace vireo
