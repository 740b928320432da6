// Operators of com.microsoft on codes, which ONNX Runtime's quantizer and optimiser write. Taken apart into
// DequantizeLinear, the operator on real numbers, and QuantizeLinear: what they mean, and the spelling that
// fold_quantization makes integer operators of. Products whose result is real become the spelling of dynamically
// quantized models, which fuse_dynamic_quantization knows.
//   QLinearAdd, QLinearMul         a, scale, zero; b, scale, zero; y's scale, zero
//   QLinearSigmoid, -LeakyRelu, -Softmax, -ReduceMean, -AveragePool, -GlobalAveragePool
//                                  x, scale, zero; y's scale, zero
//   QLinearWhere                   condition; x, scale, zero; y, scale, zero; z's scale, zero
//   QLinearConcat                  y's scale, zero; x, scale, zero of each part
//   QGemm                          a, scale, zero; b, scale, zero; c in int32 of scale alpha a's b's; y's scale, zero
//   MatMulIntegerToFloat           a, b; their scales; their zeros; bias
//   DynamicQuantizeMatMul          a (real), b; b's scale, zero; bias
//   QLinearConv, NhwcMaxPool       the standard's, the channels last
// A zero point that is left out is 0. What has its channels last stands between two Transposes, which sink_transposes
// cancels between neighbours.
// Source: ONNX Runtime, ContribOperators.md.
#include "sdk/ops/conv_integer/conv_integer_generated.h"
#include "sdk/ops/dynamic_quantize/dynamic_quantize_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/global_pool/global_pool_generated.h"
#include "sdk/ops/matmul_integer/matmul_integer_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/shared/steps_import.h"
#include "sdk/ops/shared/window_import.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/unary/unary_generated.h"

namespace vireo {
namespace {

Status missing(ImportContext& ctx) {
  return ctx.fail(Status::kInvalidModel, "an operand, a scale or a zero point that it needs is missing");
}

// The real numbers that codes stand for; scale and zero are the inputs behind them.
Value real(ImportContext& ctx, Value codes, Value scale, Value zero, int32_t axis = 0) {
  if (!codes || !scale) return {};
  attrs::DequantizeLinearT a;
  a.axis = axis;
  std::vector<Value> inputs = {codes, scale};
  if (zero) inputs.push_back(zero);
  return ctx.emit1(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a), std::move(inputs));
}
Value real(ImportContext& ctx, int at) { return real(ctx, ctx.input(at), ctx.input(at + 1), ctx.input(at + 2)); }

// `v` as codes of `type` with scale and zero of inputs `at` and `at` + 1, which is output 0.
Status finish(ImportContext& ctx, Value v, int at, DType type) {
  if (!v || !ctx.input(at)) return missing(ctx);
  attrs::QuantizeLinearT a;
  std::vector<Value> inputs = {v, ctx.input(at)};
  if (ctx.input(at + 1)) {
    inputs.push_back(ctx.input(at + 1));
  } else {
    a.output_dtype = static_cast<uint8_t>(type);
  }
  return import_as(ctx, Op::kQuantizeLinear, pack<attrs::QuantizeLinear>(a), std::move(inputs));
}
Status finish(ImportContext& ctx, Value v, int at) { return finish(ctx, v, at, ctx.type(ctx.input(0)).dtype); }

// [N, spatial..., C] as [N, C, spatial...], or back.
Value channels(ImportContext& ctx, Value v, bool first) {
  if (!v) return {};
  const int rank = ctx.type(v).shape.rank;
  std::vector<int32_t> perm = {0};
  if (first) perm.push_back(rank - 1);
  for (int i = first ? 1 : 2; i < (first ? rank - 1 : rank); ++i) perm.push_back(i);
  if (!first) perm.push_back(1);
  return Steps(ctx).transpose(v, perm);
}

Status check_channels(ImportContext& ctx) {
  const int rank = ctx.type(ctx.input(0)).shape.rank;
  if (rank >= 3) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "its input is of rank " + std::to_string(rank) + ", wanted 3 or more");
}

template <Op kOp>
Status import_binary(ImportContext& ctx) {
  Steps s(ctx);
  const Value a = real(ctx, 0), b = real(ctx, 3);
  return finish(ctx, kOp == Op::kAdd ? s.add(a, b) : s.mul(a, b), 6);
}

Status import_sigmoid(ImportContext& ctx) {
  return finish(ctx, Steps(ctx).one(Op::kSigmoid, pack<attrs::Unary>(attrs::UnaryT{}), {real(ctx, 0)}), 3);
}

Status import_leaky_relu(ImportContext& ctx) {
  attrs::LeakyReluT a;
  a.alpha = ctx.attr_float("alpha", a.alpha);
  return finish(ctx, Steps(ctx).one(Op::kLeakyRelu, pack<attrs::LeakyRelu>(a), {real(ctx, 0)}), 3);
}

// Before opset 13 all dimensions from the axis on are one.
Status import_softmax(ImportContext& ctx) {
  Steps s(ctx);
  const int rank = ctx.type(ctx.input(0)).shape.rank;
  const bool joined = ctx.attr_int("opset", 13) < 13;
  int axis = ctx.attr_int32("axis", joined ? 1 : -1);
  if (axis < -rank || axis >= rank) return ctx.fail(Status::kInvalidModel, "axis is " + std::to_string(axis));
  if (axis < 0) axis += rank;
  Value x = real(ctx, 0);
  const Value shape = joined && axis != rank - 1 ? s.shape(x, 0, rank) : Value{};
  attrs::SoftmaxT a;
  a.axis = axis;
  if (shape) {
    attrs::FlattenT flat;
    flat.axis = axis;
    x = s.one(Op::kFlatten, pack<attrs::Flatten>(flat), {x});
    a.axis = 1;
  }
  x = s.one(Op::kSoftmax, pack<attrs::Softmax>(a), {x});
  return finish(ctx, shape ? s.reshape_to(x, shape) : x, 3);
}

Status import_concat(ImportContext& ctx) {
  std::vector<Value> parts;
  for (int i = 2; i < ctx.input_count(); i += 3) parts.push_back(real(ctx, i));
  const int64_t axis = ctx.attr_int("axis", 0);
  if (axis < -kMaxRank || axis >= kMaxRank) return ctx.fail(Status::kInvalidModel, "axis is " + std::to_string(axis));
  if (parts.empty()) return missing(ctx);
  return finish(ctx, Steps(ctx).concat(parts, static_cast<int32_t>(axis)), 0, ctx.type(ctx.input(2)).dtype);
}

Status import_qlinear_where(ImportContext& ctx) {
  return finish(ctx, Steps(ctx).where(ctx.input(0), real(ctx, 1), real(ctx, 4)), 7, ctx.type(ctx.input(1)).dtype);
}

Status import_reduce_mean(ImportContext& ctx) {
  attrs::ReduceT a;
  a.keepdims = ctx.attr_int("keepdims", 1) != 0;
  const Value axes = ctx.add_i64(ctx.attr_ints("axes"));
  return finish(ctx, Steps(ctx).one(Op::kReduceMean, pack<attrs::Reduce>(a), {real(ctx, 0), axes}), 3);
}

template <class Pool>
Status import_average(ImportContext& ctx, const Pool& pool) {
  const bool last = ctx.attr_int("channels_last", 0) != 0;
  VIREO_TRY(check_channels(ctx));
  const Value x = real(ctx, 0), y = pool(last ? channels(ctx, x, true) : x);
  return finish(ctx, last ? channels(ctx, y, false) : y, 3);
}

Status import_average_pool(ImportContext& ctx) {
  attrs::PoolT a;
  VIREO_TRY(import_window(ctx, &a));
  VIREO_TRY(import_ints(ctx, "kernel_shape", &a.kernel_shape));
  if (a.kernel_shape.empty()) return ctx.fail(Status::kInvalidModel, "kernel_shape is missing");
  a.ceil_mode = ctx.attr_int("ceil_mode", 0) != 0;
  a.count_include_pad = ctx.attr_int("count_include_pad", 0) != 0;
  return import_average(ctx, [&](Value x) { return Steps(ctx).one(Op::kAveragePool, pack<attrs::Pool>(a), {x}); });
}

Status import_global_average_pool(ImportContext& ctx) {
  const std::vector<uint8_t> a = pack<attrs::GlobalPool>(attrs::GlobalPoolT{});
  return import_average(ctx, [&](Value x) { return Steps(ctx).one(Op::kGlobalAveragePool, a, {x}); });
}

Status import_max_pool(ImportContext& ctx) {
  attrs::PoolT a;
  VIREO_TRY(check_channels(ctx));
  VIREO_TRY(import_window(ctx, &a));
  VIREO_TRY(import_ints(ctx, "kernel_shape", &a.kernel_shape));
  if (a.kernel_shape.empty()) return ctx.fail(Status::kInvalidModel, "kernel_shape is missing");
  a.ceil_mode = ctx.attr_int("ceil_mode", 0) != 0;
  const Value x = channels(ctx, ctx.input(0), true);
  return import_value(ctx, channels(ctx, Steps(ctx).one(Op::kMaxPool, pack<attrs::Pool>(a), {x}), false));
}

Status import_conv(ImportContext& ctx) {
  attrs::ConvIntegerT a;
  VIREO_TRY(check_channels(ctx));
  VIREO_TRY(import_window(ctx, &a));
  VIREO_TRY(check_kernel_shape(ctx, 3));
  const int64_t group = ctx.attr_int("group", 1);
  if (group < 1 || group > INT32_MAX) return ctx.fail(Status::kInvalidModel, "group is " + std::to_string(group));
  a.group = static_cast<int32_t>(group);
  const bool last = ctx.attr_int("channels_last", 0) != 0;
  std::vector<Value> inputs;
  for (int i = 0; i < ctx.input_count(); ++i) inputs.push_back(ctx.input(i));
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();
  if (last && !inputs.empty()) inputs[0] = channels(ctx, inputs[0], true);
  const Value y = ctx.emit1(Op::kQLinearConv, pack<attrs::ConvInteger>(a), std::move(inputs));
  return import_value(ctx, last ? channels(ctx, y, false) : y);
}

Status import_gemm(ImportContext& ctx) {
  attrs::GemmT a;
  a.alpha = ctx.attr_float("alpha", 1.0f);
  a.trans_a = ctx.attr_int("transA", 0) != 0;
  a.trans_b = ctx.attr_int("transB", 0) != 0;
  Steps s(ctx);
  std::vector<Value> inputs = {real(ctx, 0), real(ctx, ctx.input(3), ctx.input(4), ctx.input(5), a.trans_b ? 0 : 1)};
  if (!inputs[0] || !inputs[1]) return missing(ctx);
  if (ctx.input(6)) {
    Value scale = s.mul(ctx.input(1), ctx.input(4));
    if (a.alpha != 1) scale = s.mul(scale, s.scalar(DType::kF32, static_cast<double>(a.alpha)));
    const int rank = ctx.type(ctx.input(6)).shape.rank;
    inputs.push_back(real(ctx, ctx.input(6), scale, {}, rank < 1 ? 0 : rank - 1));
    if (!inputs[2]) return Status::kInvalidModel;
  }
  const Value y = ctx.emit1(Op::kGemm, pack<attrs::Gemm>(a), std::move(inputs));
  if (!y) return Status::kInvalidModel;
  return ctx.input(7) ? finish(ctx, y, 7) : import_value(ctx, y);
}

// Real sums of products of codes.
Status product(ImportContext& ctx, Value a, Value b, Value a_scale, Value b_scale, Value a_zero, Value b_zero,
               Value bias) {
  Steps s(ctx);
  if (!a || !b || !a_scale || !b_scale) return missing(ctx);
  const Shape& of_a = ctx.type(a_scale).shape;
  if (of_a.rank > 1 || (of_a.rank == 1 && of_a[0] != 1)) {
    return ctx.fail(Status::kUnsupported, "a scale for each row of the first operand",
                    "quantize the activations with one scale");
  }
  std::vector<Value> inputs = {a, b, a_zero, b_zero};
  while (!inputs.back()) inputs.pop_back();
  const Value sums =
      ctx.emit1(Op::kMatMulInteger, pack<attrs::MatMulInteger>(attrs::MatMulIntegerT{}), std::move(inputs));
  Value y = s.mul(s.cast(sums, DType::kF32), s.mul(a_scale, b_scale));
  if (bias) y = s.add(y, bias);
  return import_value(ctx, y);
}

Status import_to_float(ImportContext& ctx) {
  return product(ctx, ctx.input(0), ctx.input(1), ctx.input(2), ctx.input(3), ctx.input(4), ctx.input(5), ctx.input(6));
}

Status import_dynamic(ImportContext& ctx) {
  if (!ctx.input(0)) return missing(ctx);
  const std::vector<Value> codes =
      ctx.emit(Op::kDynamicQuantizeLinear, pack<attrs::DynamicQuantizeLinear>(attrs::DynamicQuantizeLinearT{}),
               {ctx.input(0)}, 3);
  if (codes.empty() || !codes[0]) return Status::kInvalidModel;
  return product(ctx, codes[0], ctx.input(1), codes[1], ctx.input(2), codes[2], ctx.input(3), ctx.input(4));
}

}  // namespace

extern const OnnxImport kNhwcMaxPoolOnnx;
const OnnxImport kNhwcMaxPoolOnnx = {"com.microsoft", "NhwcMaxPool", import_max_pool};
extern const OnnxImport kMsQLinearConvOnnx;
const OnnxImport kMsQLinearConvOnnx = {"com.microsoft", "QLinearConv", import_conv};
extern const OnnxImport kQLinearAddOnnx;
const OnnxImport kQLinearAddOnnx = {"com.microsoft", "QLinearAdd", import_binary<Op::kAdd>};
extern const OnnxImport kQLinearMulOnnx;
const OnnxImport kQLinearMulOnnx = {"com.microsoft", "QLinearMul", import_binary<Op::kMul>};
extern const OnnxImport kQLinearSigmoidOnnx;
const OnnxImport kQLinearSigmoidOnnx = {"com.microsoft", "QLinearSigmoid", import_sigmoid};
extern const OnnxImport kQLinearLeakyReluOnnx;
const OnnxImport kQLinearLeakyReluOnnx = {"com.microsoft", "QLinearLeakyRelu", import_leaky_relu};
extern const OnnxImport kQLinearSoftmaxOnnx;
const OnnxImport kQLinearSoftmaxOnnx = {"com.microsoft", "QLinearSoftmax", import_softmax};
extern const OnnxImport kQLinearConcatOnnx;
const OnnxImport kQLinearConcatOnnx = {"com.microsoft", "QLinearConcat", import_concat};
extern const OnnxImport kQLinearWhereOnnx;
const OnnxImport kQLinearWhereOnnx = {"com.microsoft", "QLinearWhere", import_qlinear_where};
extern const OnnxImport kQLinearReduceMeanOnnx;
const OnnxImport kQLinearReduceMeanOnnx = {"com.microsoft", "QLinearReduceMean", import_reduce_mean};
extern const OnnxImport kQLinearAveragePoolOnnx;
const OnnxImport kQLinearAveragePoolOnnx = {"com.microsoft", "QLinearAveragePool", import_average_pool};
extern const OnnxImport kQLinearGlobalAveragePoolOnnx;
const OnnxImport kQLinearGlobalAveragePoolOnnx = {"com.microsoft", "QLinearGlobalAveragePool",
                                                  import_global_average_pool};
extern const OnnxImport kQGemmOnnx;
const OnnxImport kQGemmOnnx = {"com.microsoft", "QGemm", import_gemm};
extern const OnnxImport kMatMulIntegerToFloatOnnx;
const OnnxImport kMatMulIntegerToFloatOnnx = {"com.microsoft", "MatMulIntegerToFloat", import_to_float};
extern const OnnxImport kDynamicQuantizeMatMulOnnx;
const OnnxImport kDynamicQuantizeMatMulOnnx = {"com.microsoft", "DynamicQuantizeMatMul", import_dynamic};

}  // namespace vireo
