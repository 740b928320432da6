// Opset 24 adds nonpad_kv_seqlen to 23, and 25 the windows; what is absent has the meaning of the newest one's
// defaults. FlexAttention without subgraphs is a further spelling of it, with them it is spelled out; com.microsoft's
// are in files of their own.
#include <cmath>

#include "sdk/ops/attention/attention_generated.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/shared/steps_import.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

constexpr int64_t kMostHeads = int64_t{1} << 20;  // that are listed one by one

Status import_attention(ImportContext& ctx) {
  attrs::AttentionT a;
  a.q_heads = ctx.attr_int32("q_num_heads", 0);
  a.kv_heads = ctx.attr_int32("kv_num_heads", 0);
  a.scale = ctx.attr_float("scale", std::nanf(""));
  a.softcap = ctx.attr_float("softcap", 0);
  a.causal = ctx.attr_int("is_causal", 0) != 0;
  a.left_window = ctx.attr_int32("left_window_size", -1);
  a.right_window = ctx.attr_int32("right_window_size", -1);
  const int64_t mode = ctx.attr_int("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) {
    return ctx.fail(Status::kInvalidModel, "qk_matmul_output_mode is " + std::to_string(mode) + ", wanted 0 to 3");
  }
  a.scores = static_cast<attrs::AttentionScores>(mode);
  return import_direct(ctx, Op::kAttention, pack<attrs::Attention>(a));
}

// Scores and probabilities pass through graphs of the file, so they are spelled out (opset 26 of the function's body):
// prob_mod(softmax(score_mod(scale Q K^T))) V. Both are computed in float32 for 16-bit inputs, as the standard has it.
Status spell_flex(ImportContext& ctx) {
  const Value q = ctx.input(0), k = ctx.input(1), v = ctx.input(2);
  const TensorType tq = ctx.type(q), tk = ctx.type(k);
  const DType type = tq.dtype;
  if (!q || !k || !v || tq.shape.rank != 4 || tk.shape.rank != 4 || ctx.type(v).shape.rank != 4)
    return ctx.fail(Status::kInvalidModel, "FlexAttention: Q, K and V have 4 dimensions each");
  const Dim heads = tq.shape[1], groups = tk.shape[1], width = tq.shape[3];
  const bool counted = !is_symbolic(heads) && !is_symbolic(groups);
  if (counted && (groups < 1 || heads % groups != 0))
    return ctx.fail(Status::kInvalidModel, "FlexAttention: Q's heads must be a multiple of K's");
  if (counted && heads != groups && heads > kMostHeads)
    return ctx.fail(Status::kUnsupported, "FlexAttention of " + std::to_string(heads) + " heads");
  if (!is_symbolic(width) && width < 1) return ctx.fail(Status::kInvalidModel, "FlexAttention: heads without elements");
  Steps steps(ctx);
  const auto cast = [&](Value x, DType to) {
    attrs::CastT a;
    a.to = static_cast<uint8_t>(to);
    return !x || ctx.type(x).dtype == to ? x : ctx.emit1(Op::kCast, pack<attrs::Cast>(a), {x});
  };
  // A head of K and V for each of Q's: head h reads h / (heads / groups).
  const auto repeat = [&](Value x) {
    if (heads == groups) return x;  // the same number, or the same dimension
    std::vector<int64_t> rows;
    for (int64_t h = 0; counted && h < heads; ++h) rows.push_back(h / (heads / groups));
    if (counted) return steps.gather(x, steps.i64(rows), 1);
    const std::vector<uint8_t> quotient = pack<attrs::Binary>(attrs::BinaryT{});
    const Value count = steps.shape(q, 1, 2);
    const Value each = steps.one(Op::kDiv, quotient, {count, steps.shape(k, 1, 2)});
    return steps.gather(x, steps.one(Op::kDiv, quotient, {steps.range(count), each}), 1);
  };
  const auto apply = [&](const char* part, Value x) {
    if (!ctx.has_attr(part)) return x;
    const std::vector<Value> made = ctx.call(part, {x});
    return made.size() == 1 ? made[0] : Value{};
  };
  const DType wide = type == DType::kF64 ? DType::kF64 : DType::kF32;
  const std::vector<uint8_t> plain = pack<attrs::Binary>(attrs::BinaryT{}),
                             product = pack<attrs::MatMul>(attrs::MatMulT{});
  // Each side by the root, as the body has it: 16-bit products stay in range.
  Value root;
  if (ctx.has_attr("scale") || !is_symbolic(width)) {
    const double scale = ctx.has_attr("scale") ? static_cast<double>(ctx.attr_float("scale", 1))
                                               : 1 / std::sqrt(static_cast<double>(width));
    root = add_scalar(ctx, type, std::sqrt(scale));
  } else {
    const std::vector<uint8_t> unary = pack<attrs::Unary>(attrs::UnaryT{});
    const Value side = steps.one(Op::kSqrt, unary, {steps.cast(steps.shape(q, 3, 4), wide)});
    root = steps.one(Op::kDiv, plain, {steps.scalar(wide, 1), steps.one(Op::kSqrt, unary, {side})});
    root = steps.cast(root, type);
  }
  if (!root) return Status::kInvalidModel;
  const Value left = ctx.emit1(Op::kMul, plain, {q, root});
  const Value right = ctx.emit1(Op::kMul, plain, {repeat(k), root});
  if (!left || !right) return Status::kInvalidModel;
  attrs::TransposeT turn;
  turn.perm = {0, 1, 3, 2};
  const Value turned = ctx.emit1(Op::kTranspose, pack<attrs::Transpose>(turn), {right});
  if (!turned) return Status::kInvalidModel;
  Value x = cast(ctx.emit1(Op::kMatMul, product, {left, turned}), wide);
  if (x) x = apply("score_mod", x);
  attrs::SoftmaxT softmax;
  softmax.axis = 3;
  if (x) x = ctx.emit1(Op::kSoftmax, pack<attrs::Softmax>(softmax), {x});
  if (x) x = cast(apply("prob_mod", x), type);
  const Value values = repeat(v);
  if (!x || !values) return Status::kInvalidModel;
  const Value y = ctx.emit1(Op::kMatMul, product, {x, values});
  if (!y) return Status::kInvalidModel;
  ctx.set_output(0, y);
  return Status::kOk;
}

Status import_flex(ImportContext& ctx) {
  if (ctx.has_attr("score_mod") || ctx.has_attr("prob_mod")) return spell_flex(ctx);
  attrs::AttentionT a;
  a.scale = ctx.attr_float("scale", std::nanf(""));
  return import_direct(ctx, Op::kAttention, pack<attrs::Attention>(a));
}

// A mask of one row is for all queries. ONNX Runtime asks for a row of each, so it gets them.
std::string export_mask(ExportContext& ctx) {
  const Shape &mask = ctx.input_type(3).shape, &q = ctx.input_type(0).shape;
  const bool row = mask.rank == 1 || (mask.rank > 1 && mask[mask.rank - 2] == 1 && q[q.rank - 2] != 1);
  if (ctx.input(3).empty() || !row) return ctx.input(3);
  OnnxNode rows = ExportContext::node("Shape", {ctx.input(0)});
  rows.number("start", q.rank - 2).number("end", q.rank - 1);
  OnnxNode shape = ExportContext::node("Concat", {ctx.step(std::move(rows)), ctx.add_i64({1})});
  return ctx.step("Expand", {ctx.input(3), ctx.step(std::move(shape.number("axis", 0)))});
}

}  // namespace

extern const OnnxImport kAttentionOnnx;
const OnnxImport kAttentionOnnx = {"", "Attention", import_attention};
extern const OnnxImport kFlexAttentionOnnx;
const OnnxImport kFlexAttentionOnnx = {"ai.onnx.preview", "FlexAttention", import_flex};

Status export_attention(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Attention>();
  OnnxNode n = ctx.same().needs(ctx.input(6).empty() ? 23 : 24);
  if (n.inputs.size() > 3) n.inputs[3] = export_mask(ctx);
  // ONNX multiplies q and k by the root of the scale, which must be positive for that. Others stand before the node.
  const bool has_root = a.scale() > 0 || std::isnan(a.scale());
  if (!has_root) {
    const std::string factor = ctx.add_scalar(ctx.input_type(0).dtype, static_cast<double>(a.scale()));
    n.inputs[0] = ctx.step("Mul", {ctx.input(0), factor});
  }
  if (a.q_heads() != 0) n.number("q_num_heads", a.q_heads());
  if (a.kv_heads() != 0) n.number("kv_num_heads", a.kv_heads());
  if (!std::isnan(a.scale())) n.real("scale", has_root ? a.scale() : 1);
  if (a.softcap() != 0) n.real("softcap", a.softcap());
  n.flag("is_causal", a.causal());
  if (a.left_window() != -1 || a.right_window() != -1)
    n.number("left_window_size", a.left_window()).number("right_window_size", a.right_window()).needs(25);
  if (a.scores() != attrs::AttentionScores::Raw) n.number("qk_matmul_output_mode", static_cast<int64_t>(a.scores()));
  return ctx.done(std::move(n));
}

}  // namespace vireo
