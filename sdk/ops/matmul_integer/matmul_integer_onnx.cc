// MatMulInteger has one version; QLinearMatMul 21 adds types to 10: products of 8-bit floats, which are taken apart
// into arithmetic in float32.
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/matmul_integer/matmul_integer_generated.h"
#include "sdk/ops/shared/import_scalar.h"
#include "sdk/ops/shared/steps_import.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

Status import_integer(ImportContext& ctx) {
  return import_direct(ctx, Op::kMatMulInteger, pack<attrs::MatMulInteger>(attrs::MatMulIntegerT{}));
}

// A scale or zero point in float32: a number, or one for each row or column, which broadcasts to the product.
Value parameter(ImportContext& ctx, int at, bool rows) {
  Steps s(ctx);
  const Value v = s.cast(ctx.input(at), DType::kF32);
  const Shape& shape = ctx.type(v).shape;
  return rows && shape.rank == 1 && shape[0] != 1 ? s.unsqueeze(v, {1}) : v;
}

Value binary(ImportContext& ctx, Op op, Value a, Value b) {
  return Steps(ctx).one(op, pack<attrs::Binary>(attrs::BinaryT{}), {a, b});
}

// The real numbers that the codes of input `at` stand for.
Value real(ImportContext& ctx, int at, bool rows) {
  Steps s(ctx);
  return s.mul(s.sub(s.cast(ctx.input(at), DType::kF32), parameter(ctx, at + 2, rows)), parameter(ctx, at + 1, rows));
}

// y = saturate(round(real product / scale) + zero): a float is rounded as it is converted.
Status import_floats(ImportContext& ctx) {
  Steps s(ctx);
  const DType type = ctx.type(ctx.input(7)).dtype;
  Value y = binary(ctx, Op::kDiv, s.matmul(real(ctx, 0, true), real(ctx, 3, false)), parameter(ctx, 6, true));
  if (!dtype_is_float(type)) {
    y = s.one(Op::kRound, pack<attrs::Unary>(attrs::UnaryT{}), {y});
    y = s.add(y, parameter(ctx, 7, true));
    const bool is_signed = dtype_is_signed(type);
    y = s.maximum(y, s.scalar(DType::kF32, is_signed ? -128 : 0));
    y = binary(ctx, Op::kMin, y, s.scalar(DType::kF32, is_signed ? 127 : 255));
  } else {
    y = s.add(y, parameter(ctx, 7, true));
  }
  return import_value(ctx, s.cast(y, type));
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
