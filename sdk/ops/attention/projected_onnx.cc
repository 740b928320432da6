// com.microsoft Attention and QAttention: the projections of query, key and value are inside.
//   Attention   0 x [B, S, C], 1 weights [C, Hq + Hk + Hv], 2 bias, 3 mask_index, 4 past [2, B, H, P, D],
//               5 attention_bias, 6 past_sequence_length
//   QAttention  0 x, 1 weights (8 bits), 2 bias, 3, 4 their scales, 5 mask_index, 6, 7 their zero points, 8 past
// Three products of the parts of the weights, as the model had them before it was fused: merge_shared_gemm makes one of
// them again where that pays. The integers of QAttention stay one product, in the spelling of dynamically quantized
// models, which fuse_dynamic_quantization knows.
// Source: ONNX Runtime, ContribOperators.md "Attention", "QAttention".
#include "sdk/ops/attention/contrib_import.h"
#include "sdk/ops/matmul_integer/matmul_integer_generated.h"

namespace vireo {
namespace {

// Columns of query, key and value in the weights.
Status read_widths(ContribAttention& a, std::vector<int64_t>* widths) {
  ImportContext& ctx = a.ctx;
  const TensorType x = ctx.type(ctx.input(0)), w = ctx.type(ctx.input(1));
  if (!ctx.input(0) || !ctx.input(1) || x.shape.rank != 3 || w.shape.rank != 2 || is_symbolic(w.shape[1])) {
    return ctx.fail(Status::kInvalidModel, "input and weights of ranks " + std::to_string(x.shape.rank) + " and " +
                                               std::to_string(w.shape.rank) +
                                               ", wanted [batch, sequence, channels] and [channels, columns]");
  }
  *widths = ctx.attr_ints("qkv_hidden_sizes");
  const int64_t all = w.shape[1];
  if (widths->empty()) *widths = {all / 3, all / 3, all / 3};
  bool good = widths->size() == 3 && (*widths)[0] == (*widths)[1];
  int64_t sum = 0;
  for (const int64_t n : *widths) {
    good = good && n > 0 && n <= all && n % a.heads == 0;
    sum += good ? n : 0;
  }
  if (good && sum == all) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "weights of " + std::to_string(all) +
                                             " columns do not part into query, key and value of " +
                                             std::to_string(a.heads) + " heads each");
}

Status read_past(ContribAttention& a, Value past) {
  if (!past) return Status::kOk;
  const Shape s = a.ctx.type(past).shape;
  if (s.rank != 5 || s[0] != 2) {
    return a.ctx.fail(Status::kInvalidModel,
                      "past is of rank " + std::to_string(s.rank) + ", wanted [2, batch, heads, sequence, head size]");
  }
  const std::vector<Value> parts = a.steps.split(past, 0, {1, 1});
  a.past_key = a.steps.squeeze(parts[0], {0});
  a.past_value = a.steps.squeeze(parts[1], {0});
  return a.past_key && a.past_value ? Status::kOk : Status::kInvalidModel;
}

// What only kernels of one device have.
Status check_plain(ImportContext& ctx, int length_input) {
  const char* what = ctx.attr_int("do_rotary", 0) != 0                   ? "do_rotary"
                     : ctx.attr_int("past_present_share_buffer", 0) != 0 ? "past_present_share_buffer"
                     : length_input >= 0 && ctx.input(length_input)      ? "past_sequence_length"
                                                                         : nullptr;
  if (what == nullptr) return Status::kOk;
  return ctx.fail(Status::kUnsupported, what, "fuse the model without it, or convert the model as it was exported");
}

Status finish(ContribAttention& a, int mask, int bias) {
  ImportContext& ctx = a.ctx;
  VIREO_TRY(a.add_masks(mask, bias));
  const bool present = ctx.wants_output(1);
  const std::vector<Value> out = a.finish(present ? 3 : 1);
  if (out.empty()) return Status::kInvalidModel;
  ctx.set_output(0, out[0]);
  if (!present) return Status::kOk;
  const Value joined = a.steps.concat({a.steps.unsqueeze(out[1], {0}), a.steps.unsqueeze(out[2], {0})}, 0);
  ctx.set_output(1, joined);
  return joined ? Status::kOk : Status::kInvalidModel;
}

Status import_attention(ImportContext& ctx) {
  ContribAttention a(ctx);
  VIREO_TRY(a.read_heads());
  VIREO_TRY(check_plain(ctx, 6));
  std::vector<int64_t> widths;
  VIREO_TRY(read_widths(a, &widths));
  const std::vector<Value> weights = a.steps.split(ctx.input(1), 1, widths);
  std::vector<Value> biases(3);
  if (ctx.input(2)) biases = a.steps.split(ctx.input(2), 0, widths);
  Value* const parts[3] = {&a.q, &a.k, &a.v};
  for (size_t i = 0; i < 3; ++i) {
    *parts[i] = a.steps.matmul(ctx.input(0), weights[i]);
    if (ctx.input(2)) *parts[i] = a.steps.add(*parts[i], biases[i]);
    if (!*parts[i]) return Status::kInvalidModel;
  }
  VIREO_TRY(read_past(a, ctx.input(4)));
  return finish(a, 3, 5);
}

Status import_quantized(ImportContext& ctx) {
  ContribAttention a(ctx);
  VIREO_TRY(a.read_heads());
  VIREO_TRY(check_plain(ctx, -1));
  std::vector<int64_t> widths;
  VIREO_TRY(read_widths(a, &widths));
  std::vector<Value> inputs = {ctx.input(0), ctx.input(1), ctx.input(6), ctx.input(7)};
  while (!inputs.back()) inputs.pop_back();
  const Value sums = ctx.emit1(Op::kMatMulInteger, pack<attrs::MatMulInteger>(attrs::MatMulIntegerT{}), inputs);
  const Value scale = a.steps.mul(ctx.input(3), ctx.input(4));
  const Value all = a.steps.add(a.steps.mul(a.steps.cast(sums, DType::kF32), scale), ctx.input(2));
  const std::vector<Value> parts = a.steps.split(all, 2, widths);
  a.q = parts[0];
  a.k = parts[1];
  a.v = parts[2];
  if (!a.q) return ctx.fail(Status::kInvalidModel, "a scale or the bias is missing");
  VIREO_TRY(read_past(a, ctx.input(8)));
  return finish(a, 5, 9);
}

}  // namespace

extern const OnnxImport kMsAttentionOnnx;
const OnnxImport kMsAttentionOnnx = {"com.microsoft", "Attention", import_attention};
extern const OnnxImport kQAttentionOnnx;
const OnnxImport kQAttentionOnnx = {"com.microsoft", "QAttention", import_quantized};

}  // namespace vireo
