// What ONNX Runtime's optimiser writes into saved models (domain com.microsoft): a convolution or matrix product with
// what follows it. Taken apart again, so that our own passes see ordinary operators.
//   FusedConv    y = activation(Conv(x, w, b) + z)
//   FusedGemm    y = activation(Gemm(a, b, c))
//   FusedMatMul  y = alpha * a' * b', a' and b' transposed as asked; TransposeMatMul is its older name
//   FusedMatMulActivation  y = activation(FusedMatMul(a, b))
//   NhwcFusedConv  FusedConv of channels-last x and z, with the standard's filters
// Source: ONNX Runtime, ContribOperators.md.
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/clip/clip_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/shared/window_import.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/unary/unary_generated.h"

namespace vireo {
namespace {

// Emits the activation called `name` and makes it output 0. `p`: its parameters in the order of its ONNX attributes.
Status finish_fused(ImportContext& ctx, Value x, const std::string& name, std::vector<float> p) {
  if (!x) return Status::kInvalidModel;
  const auto parameter = [&](size_t i, float otherwise) { return i < p.size() ? p[i] : otherwise; };
  Value y;
  if (name.empty()) {
    y = x;
  } else if (name == "Relu") {
    y = ctx.emit1(Op::kRelu, pack<attrs::Unary>(attrs::UnaryT{}), {x});
  } else if (name == "Tanh") {
    y = ctx.emit1(Op::kTanh, pack<attrs::Unary>(attrs::UnaryT{}), {x});
  } else if (name == "Sigmoid") {
    y = ctx.emit1(Op::kSigmoid, pack<attrs::Unary>(attrs::UnaryT{}), {x});
  } else if (name == "HardSwish") {
    y = ctx.emit1(Op::kHardSwish, pack<attrs::Unary>(attrs::UnaryT{}), {x});
  } else if (name == "LeakyRelu") {
    attrs::LeakyReluT a;
    a.alpha = parameter(0, a.alpha);
    y = ctx.emit1(Op::kLeakyRelu, pack<attrs::LeakyRelu>(a), {x});
  } else if (name == "HardSigmoid") {
    attrs::HardSigmoidT a;
    a.alpha = parameter(0, a.alpha);
    a.beta = parameter(1, a.beta);
    y = ctx.emit1(Op::kHardSigmoid, pack<attrs::HardSigmoid>(a), {x});
  } else if (name == "Clip" && p.size() >= 2) {
    const DType t = ctx.type(x).dtype;
    const Value low = add_scalar(ctx, t, static_cast<double>(p[0])),
                high = add_scalar(ctx, t, static_cast<double>(p[1]));
    y = ctx.emit1(Op::kClip, pack<attrs::Clip>(attrs::ClipT{}), {x, low, high});
  } else {
    return ctx.fail(Status::kUnsupported,
                    "activation \"" + name + "\" with " + std::to_string(p.size()) + " parameters",
                    "save the model without graph optimisation");
  }
  if (!y) return Status::kInvalidModel;
  ctx.set_output(0, y);
  return Status::kOk;
}

// [N, spatial..., C] as [N, C, spatial...], or back.
Value channels(ImportContext& ctx, Value v, bool first) {
  const int rank = ctx.type(v).shape.rank;
  attrs::TransposeT a;
  a.perm = {0};
  if (first) a.perm.push_back(rank - 1);
  for (int i = first ? 1 : 2; i < (first ? rank - 1 : rank); ++i) a.perm.push_back(i);
  if (!first) a.perm.push_back(1);
  return ctx.emit1(Op::kTranspose, pack<attrs::Transpose>(a), {v});
}

Status import_conv_of(ImportContext& ctx, bool last) {
  attrs::ConvT a;
  VIREO_TRY(import_window(ctx, &a));
  VIREO_TRY(check_kernel_shape(ctx, 1));
  const int64_t group = ctx.attr_int("group", 1);
  if (group < 1 || group > INT32_MAX) return ctx.fail(Status::kInvalidModel, "group is " + std::to_string(group));
  a.group = static_cast<int32_t>(group);
  Value x = ctx.input(0);
  if (last) {
    const int rank = ctx.type(x).shape.rank;
    if (rank < 3) return ctx.fail(Status::kInvalidModel, "its input is of rank " + std::to_string(rank));
    x = channels(ctx, x, true);
    if (!x) return Status::kInvalidModel;
  }
  std::vector<Value> inputs = {x, ctx.input(1)};
  if (ctx.input(2)) inputs.push_back(ctx.input(2));
  Value y = ctx.emit1(Op::kConv, pack<attrs::Conv>(a), std::move(inputs));
  if (last && y) y = channels(ctx, y, false);
  if (y && ctx.input(3)) y = ctx.emit1(Op::kAdd, pack<attrs::Binary>(attrs::BinaryT{}), {y, ctx.input(3)});
  return finish_fused(ctx, y, ctx.attr_string("activation", ""), ctx.attr_floats("activation_params"));
}

// Of the activation called `name`, as attributes each.
std::vector<float> parameters(ImportContext& ctx, const std::string& name) {
  if (name == "LeakyRelu") return {ctx.attr_float("activation_alpha", 0.01f)};
  if (name == "HardSigmoid") return {ctx.attr_float("activation_alpha", 0.2f), ctx.attr_float("activation_beta", 0.5f)};
  return {};
}

Status import_conv(ImportContext& ctx) { return import_conv_of(ctx, false); }
Status import_nhwc_conv(ImportContext& ctx) { return import_conv_of(ctx, true); }

Status import_gemm(ImportContext& ctx) {
  attrs::GemmT a;
  a.alpha = ctx.attr_float("alpha", 1.0f);
  a.beta = ctx.attr_float("beta", 1.0f);
  a.trans_a = ctx.attr_int("transA", 0) != 0;
  a.trans_b = ctx.attr_int("transB", 0) != 0;
  std::vector<Value> inputs = {ctx.input(0), ctx.input(1)};
  if (ctx.input(2)) inputs.push_back(ctx.input(2));
  const Value y = ctx.emit1(Op::kGemm, pack<attrs::Gemm>(a), std::move(inputs));
  const std::string name = ctx.attr_string("activation", "");
  return finish_fused(ctx, y, name, parameters(ctx, name));
}

// `matrix`: the last two dimensions change places. `batch`: the first dimension moves to just before the last (of the
// result: before the columns, or with `matrix` to the very end).
Value transposed(ImportContext& ctx, Value v, bool matrix, bool batch) {
  const int rank = ctx.type(v).shape.rank;
  if (rank < 2 || (!matrix && !batch)) return v;
  attrs::TransposeT a;
  for (int i = 0; i < rank; ++i) a.perm.push_back(i);
  if (batch) {
    for (int i = 0; i + 2 < rank; ++i) a.perm[static_cast<size_t>(i)] = i + 1;
    a.perm[static_cast<size_t>(rank - 2)] = 0;
  }
  if (matrix) std::swap(a.perm[static_cast<size_t>(rank - 1)], a.perm[static_cast<size_t>(rank - 2)]);
  return ctx.emit1(Op::kTranspose, pack<attrs::Transpose>(a), {v});
}

Status import_matmul(ImportContext& ctx) {
  const Value a = transposed(ctx, ctx.input(0), ctx.attr_int("transA", 0) != 0, ctx.attr_int("transBatchA", 0) != 0);
  const Value b = transposed(ctx, ctx.input(1), ctx.attr_int("transB", 0) != 0, ctx.attr_int("transBatchB", 0) != 0);
  if (!a || !b) return Status::kInvalidModel;
  Value y = ctx.emit1(Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}), {a, b});
  const float alpha = ctx.attr_float("alpha", 1.0f);
  if (y && alpha != 1.0f) {
    const Value factor = add_scalar(ctx, ctx.type(y).dtype, static_cast<double>(alpha));
    if (!factor) return Status::kInvalidModel;
    y = ctx.emit1(Op::kMul, pack<attrs::Binary>(attrs::BinaryT{}), {y, factor});
  }
  const std::string name = ctx.attr_string("activation", "");
  return finish_fused(ctx, y, name, parameters(ctx, name));
}

}  // namespace

extern const OnnxImport kFusedConvOnnx;
const OnnxImport kFusedConvOnnx = {"com.microsoft", "FusedConv", import_conv};
extern const OnnxImport kFusedGemmOnnx;
const OnnxImport kFusedGemmOnnx = {"com.microsoft", "FusedGemm", import_gemm};
extern const OnnxImport kFusedMatMulOnnx;
const OnnxImport kFusedMatMulOnnx = {"com.microsoft", "FusedMatMul", import_matmul};
extern const OnnxImport kTransposeMatMulOnnx;
const OnnxImport kTransposeMatMulOnnx = {"com.microsoft", "TransposeMatMul", import_matmul};
extern const OnnxImport kFusedMatMulActivationOnnx;
const OnnxImport kFusedMatMulActivationOnnx = {"com.microsoft", "FusedMatMulActivation", import_matmul};
extern const OnnxImport kNhwcFusedConvOnnx;
const OnnxImport kNhwcFusedConvOnnx = {"com.microsoft", "NhwcFusedConv", import_nhwc_conv};

}  // namespace vireo
