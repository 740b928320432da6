// ConvInteger   y = sum (x - x_zero) * (w - w_zero[m]), exact int32 (wrapping around beyond it); padding holds x_zero
// QLinearConv   y = clamp(rne(float(acc + b[m]) * (x_scale * w_scale[m] / y_scale)) + y_zero), the factor in float32
//   x, w   shapes and layouts as Conv; i8 or u8 each
//   w_zero, w_scale a number or [M]; x_zero, x_scale, y_zero, y_scale a number; scales f32; b [M] i32 or absent
//   y      i32; QLinearConv: i8 or u8, the type of y_zero
//   alias none; scratch none
// Source: ONNX opset 10 "ConvInteger", "QLinearConv".
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/conv_integer/conv_integer_generated.h"
#include "sdk/ops/shared/integer_product.h"

namespace vireo {
namespace {

Status check_number(InferContext& ctx, int input, DType t) {
  if (!ctx.has(input)) return Status::kOk;
  const TensorType& p = ctx.input(input);
  if (p.dtype != t)
    return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted {}", input, dtype_name(p.dtype), dtype_name(t));
  if (p.shape.rank == 0 || (p.shape.rank == 1 && !ctx.differ(p.shape[0], 1))) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted a number", input, p.shape);
}

Status check_channels(InferContext& ctx, int input, DType t, Dim channels) {
  if (!ctx.has(input)) return Status::kOk;
  const TensorType& p = ctx.input(input);
  if (p.dtype != t)
    return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted {}", input, dtype_name(p.dtype), dtype_name(t));
  if (p.shape.rank == 0 || (p.shape.rank == 1 && (p.shape[0] == 1 || !ctx.differ(p.shape[0], channels))))
    return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted a number or one for each of {} output channels", input,
                  p.shape, channels);
}

Status infer_integer(InferContext& ctx) {
  const DType x = ctx.input(0).dtype, w = ctx.input(1).dtype;
  if (!is_byte(x) || !is_byte(w))
    return ctx.fail(Status::kInvalidModel, "ConvInteger of {} and {}", dtype_name(x), dtype_name(w));
  VIREO_TRY(infer_conv_shape(ctx, ctx.attrs<attrs::ConvInteger>(), 0, 1));
  VIREO_TRY(check_number(ctx, 2, x));
  VIREO_TRY(check_channels(ctx, 3, w, ctx.input(1).shape[0]));
  ctx.output(0).dtype = DType::kI32;
  return Status::kOk;
}

Status infer_qlinear(InferContext& ctx) {
  const DType x = ctx.input(0).dtype, w = ctx.input(3).dtype, y = ctx.input(7).dtype;
  if (!is_byte(x) || !is_byte(w) || !is_byte(y)) {
    return ctx.fail(Status::kInvalidModel, "QLinearConv of {} and {} to {}", dtype_name(x), dtype_name(w),
                    dtype_name(y));
  }
  VIREO_TRY(infer_conv_shape(ctx, ctx.attrs<attrs::ConvInteger>(), 0, 3));
  const Dim channels = ctx.input(3).shape[0];
  VIREO_TRY(check_number(ctx, 1, DType::kF32));
  VIREO_TRY(check_number(ctx, 2, x));
  VIREO_TRY(check_channels(ctx, 4, DType::kF32, channels));
  VIREO_TRY(check_channels(ctx, 5, w, channels));
  VIREO_TRY(check_number(ctx, 6, DType::kF32));
  VIREO_TRY(check_number(ctx, 7, y));
  if (ctx.has(8)) {
    const TensorType& b = ctx.input(8);
    if (b.dtype != DType::kI32 || b.shape.rank != 1 || ctx.differ(b.shape[0], channels)) {
      return ctx.fail(Status::kInvalidModel, "bias is {} {}, wanted int32 for each of {} output channels",
                      dtype_name(b.dtype), b.shape, channels);
    }
  }
  ctx.output(0).dtype = y;
  return Status::kOk;
}

}  // namespace

extern const OpDef kConvIntegerOp;
const OpDef kConvIntegerOp = {"ConvInteger", verify_attrs<attrs::ConvInteger>, infer_integer, 2, 4, 1, 1, OpDef::kPure,
                              /*inplace=*/0};
extern const OpDef kQLinearConvOp;
const OpDef kQLinearConvOp = {"QLinearConv", verify_attrs<attrs::ConvInteger>, infer_qlinear, 8, 9, 1, 1, OpDef::kPure,
                              /*inplace=*/0};

}  // namespace vireo
