// acc = bias[m] + sum (x - x_zero) * (w - w_zero[m]), exact;  y = clamp(rne(float(acc) * multiplier[m]) + y_zero)
//   x           as Conv, i8, u8, i16 or u16; padding holds x_zero
//   w           [M, C/G, kernel...], i8; or i4 where x has 8 bits
//   multiplier  f32, one or [M];  bias i32 [M] or absent;  w_zero i8, one or [M], or absent: 0
//   y           as Conv; output_dtype, which may have another width than x
//   Of an x of 8 bits acc is an int32: the converter makes the node only where no sum can leave it, and sums of other
//   files wrap around. Of 16 bits acc is an int64, which no sum leaves.
//   alias none; scratch none
// Source: INTEGER.md "IntConv".
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

Status infer_int_conv(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntConv>();
  VIREO_TRY(check_codes(ctx, 0, a.x_zero()));
  VIREO_TRY(check_weights(ctx, 0, 1));
  VIREO_TRY(infer_conv_shape(ctx, a, 0, 1));
  const Dim channels = ctx.input(1).shape[0];
  VIREO_TRY(check_per_channel(ctx, 2, DType::kF32, channels));
  VIREO_TRY(check_per_channel(ctx, 4, DType::kI8, channels));
  if (ctx.has(3)) {
    const TensorType& b = ctx.input(3);
    if (b.dtype != DType::kI32 || b.shape.rank != 1 || ctx.differ(b.shape[0], channels)) {
      return ctx.fail(Status::kInvalidModel, "bias is {} {}, wanted int32 for each of {} output channels",
                      dtype_name(b.dtype), b.shape, channels);
    }
  }
  return infer_codes(ctx, a);
}

}  // namespace

extern const OpDef kIntConvOp;
const OpDef kIntConvOp = {"IntConv",    verify_attrs<attrs::IntConv>, infer_int_conv, 3, 5, 1, 1, OpDef::kPure,
                          /*inplace=*/0};

}  // namespace vireo
