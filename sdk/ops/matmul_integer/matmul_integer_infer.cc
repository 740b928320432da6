// MatMulInteger   y[m,n] = sum_k (a[m,k] - a_zero[m]) * (b[k,n] - b_zero[n]), exact int32 (wrapping around beyond it)
// QLinearMatMul   y = clamp(rne(float(acc) * (a_scale[m] * b_scale[n] / y_scale[m])) + y_zero[m]), the factor in
// float32
//   a, b   shapes as MatMul; i8 or u8 each
//   parameters of a and y: a number, [M], or a's (y's) shape with a last extent of 1; of b: a number, [N], or b's shape
//   with
//          the extent before the last 1. Scales f32, f16, bf16. y of a vector a: a number; of a vector b: or [M]
//   y      i32; QLinearMatMul: i8 or u8, the type of y_zero
//   alias none; scratch none
// Source: ONNX opset 10 "MatMulInteger", opset 21 "QLinearMatMul".
#include "sdk/ops/matmul/matmul.h"
#include "sdk/ops/matmul_integer/matmul_integer_generated.h"
#include "sdk/ops/shared/integer_product.h"

namespace vireo {
namespace {

// `input` is a parameter of the rows (or columns) of a matrix of shape `s`.
Status check_parameter(InferContext& ctx, int input, const Shape& s, bool rows) {
  if (!ctx.has(input)) return Status::kOk;
  const Shape& p = ctx.input(input).shape;
  if (p.rank == 0 || (p.rank == 1 && p[0] == 1)) return Status::kOk;
  const int axis = rows ? s.rank - 2 : s.rank - 1;
  bool fits = s.rank >= 2 && p.rank == 1 && !ctx.differ(p[0], s[axis]);
  if (p.rank > 1 && p.rank == s.rank) {
    fits = true;
    for (int i = 0; fits && i < p.rank; ++i) {
      const bool shared = i == (rows ? s.rank - 1 : s.rank - 2);
      fits = shared ? !ctx.differ(p[i], 1) : !ctx.differ(p[i], s[i]);
    }
  }
  if (fits) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "input {} is {}: neither a number nor one value for each {} of {}", input, p,
                  rows ? "row" : "column", s);
}

// `input` is a parameter of y = a b, of the rows it has from a. Of vectors: with a there are no rows, with b they are
// y's last axis.
Status check_rows_of_y(InferContext& ctx, int input, int a, int b, const Shape& y) {
  const Shape& p = ctx.input(input).shape;
  if (p.rank == 0 || (p.rank == 1 && p[0] == 1)) return Status::kOk;
  const bool vector_a = ctx.input(a).shape.rank == 1, vector_b = ctx.input(b).shape.rank == 1;
  if (!vector_a && !vector_b) return check_parameter(ctx, input, y, true);
  if (!vector_a && p.rank == 1 && !ctx.differ(p[0], y[y.rank - 1])) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "input {} is {}: neither a number nor one value for each row of a", input, p);
}

Status infer_integer(InferContext& ctx) {
  const DType a = ctx.input(0).dtype, b = ctx.input(1).dtype;
  if (!is_byte(a) || !is_byte(b)) {
    return ctx.fail(Status::kInvalidModel, "MatMulInteger of {} and {}", dtype_name(a), dtype_name(b));
  }
  for (int i = 0; i < 2; ++i) {
    if (ctx.has(i + 2) && ctx.input(i + 2).dtype != ctx.input(i).dtype) {
      return ctx.fail(Status::kInvalidModel, "input {} is {} but its zero point {}", i, dtype_name(ctx.input(i).dtype),
                      dtype_name(ctx.input(i + 2).dtype));
    }
  }
  VIREO_TRY(check_parameter(ctx, 2, ctx.input(0).shape, true));
  VIREO_TRY(check_parameter(ctx, 3, ctx.input(1).shape, false));
  ctx.output(0).dtype = DType::kI32;
  return infer_matmul_shape(ctx, 0, 1, &ctx.output(0).shape);
}

Status infer_qlinear(InferContext& ctx) {
  const DType a = ctx.input(0).dtype, b = ctx.input(3).dtype, y = ctx.input(7).dtype;
  if (!is_byte(a) || !is_byte(b) || !is_byte(y)) {
    return ctx.fail(dtype_is_float(a) ? Status::kUnsupported : Status::kInvalidModel,
                    "QLinearMatMul of {} and {} to {}", dtype_name(a), dtype_name(b), dtype_name(y));
  }
  if (ctx.input(2).dtype != a || ctx.input(5).dtype != b) {
    return ctx.fail(Status::kInvalidModel, "a zero point of another type than its input");
  }
  for (int i = 1; i < 8; i += i == 1 ? 3 : 2) {  // 1, 4, 6
    const DType s = ctx.input(i).dtype;
    if (s != DType::kF32 && s != DType::kF16 && s != DType::kBF16) {
      return ctx.fail(Status::kInvalidModel, "input {}, a scale, is {}", i, dtype_name(s));
    }
  }
  TensorType& out = ctx.output(0);
  out.dtype = y;
  VIREO_TRY(infer_matmul_shape(ctx, 0, 3, &out.shape));
  VIREO_TRY(check_parameter(ctx, 1, ctx.input(0).shape, true));
  VIREO_TRY(check_parameter(ctx, 2, ctx.input(0).shape, true));
  VIREO_TRY(check_parameter(ctx, 4, ctx.input(3).shape, false));
  VIREO_TRY(check_parameter(ctx, 5, ctx.input(3).shape, false));
  VIREO_TRY(check_rows_of_y(ctx, 6, 0, 3, out.shape));
  return check_rows_of_y(ctx, 7, 0, 3, out.shape);
}

}  // namespace

extern const OpDef kMatMulIntegerOp;
const OpDef kMatMulIntegerOp = {
    "MatMulInteger", verify_attrs<attrs::MatMulInteger>, infer_integer, 2, 4, 1, 1, OpDef::kPure, /*inplace=*/0};
extern const OpDef kQLinearMatMulOp;
const OpDef kQLinearMatMulOp = {
    "QLinearMatMul", verify_attrs<attrs::QLinearMatMul>, infer_qlinear, 8, 8, 1, 1, OpDef::kPure, /*inplace=*/0};

}  // namespace vireo
