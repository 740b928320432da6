// MatMulInteger has one version; QLinearMatMul 21 adds types to 10: products of 8-bit floats, which become
// DequantizeLinear, MatMul and QuantizeLinear.
#include "sdk/ops/import_scalar.h"
#include "sdk/ops/matmul_integer/matmul_integer_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/steps_import.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_integer(ImportContext& ctx) {
  return import_direct(ctx, Op::kMatMulInteger, pack<attrs::MatMulInteger>(attrs::MatMulIntegerT{}));
}

// A scale or zero point: a number, or one for each row (column).
Value parameter(ImportContext& ctx, int at) {
  const Value v = ctx.input(at);
  const Shape& s = ctx.type(v).shape;
  return s.rank == 1 && s[0] == 1 ? Steps(ctx).reshape(v, {}) : v;
}

// The real numbers that the codes of input `at` stand for; its scales belong to `axis`.
Value real(ImportContext& ctx, int at, int32_t axis) {
  attrs::DequantizeLinearT a;
  a.axis = axis;
  const Value scale = parameter(ctx, at + 1), zero = parameter(ctx, at + 2);
  if (!scale || !zero) return {};
  return Steps(ctx).cast(
      Steps(ctx).one(Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(a), {ctx.input(at), scale, zero}),
      DType::kF32);
}

Status import_floats(ImportContext& ctx) {
  for (const int at : {1, 4, 6}) {
    if (ctx.type(ctx.input(at)).shape.rank > 1) {
      return ctx.fail(Status::kUnsupported, "a scale for each matrix of 8-bit floats", "use one scale, or one a row");
    }
  }
  const Value a = real(ctx, 0, -2), b = real(ctx, 3, -1);
  if (!a || !b) return Status::kInvalidModel;
  const Value y = Steps(ctx).cast(Steps(ctx).matmul(a, b), ctx.type(ctx.input(6)).dtype);
  const Value scale = parameter(ctx, 6), zero = parameter(ctx, 7);
  if (!y || !scale || !zero) return Status::kInvalidModel;
  attrs::QuantizeLinearT q;
  q.axis = -2;
  return import_as(ctx, Op::kQuantizeLinear, pack<attrs::QuantizeLinear>(q), {y, scale, zero});
}

bool is_float_code(ImportContext& ctx, int at) {
  const Value v = ctx.input(at);
  return v && dtype_is_float(ctx.type(v).dtype) && dtype_bits(ctx.type(v).dtype) == 8;
}

Status import_qlinear(ImportContext& ctx) {
  bool complete = true;
  for (int i = 0; i < 8; ++i) complete = complete && ctx.input(i);
  if (complete && (is_float_code(ctx, 0) || is_float_code(ctx, 3) || is_float_code(ctx, 7))) return import_floats(ctx);
  return import_direct(ctx, Op::kQLinearMatMul, pack<attrs::QLinearMatMul>(attrs::QLinearMatMulT{}));
}

}  // namespace

extern const OnnxImport kMatMulIntegerOnnx;
const OnnxImport kMatMulIntegerOnnx = {"", "MatMulInteger", import_integer};
extern const OnnxImport kQLinearMatMulOnnx;
const OnnxImport kQLinearMatMulOnnx = {"", "QLinearMatMul", import_qlinear};

Status export_matmul_integer(ExportContext& ctx) { return ctx.done(ctx.same()); }

}  // namespace vireo
