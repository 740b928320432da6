// v = float(x - x_zero) * (x < x_zero ? below : factor) + offset, each operation one float32 operation
// y = clamp(rne(v) + y_zero)
//   x        i8, u8, i16 or u16, any shape
//   factor   f32, broadcasts to the shape of x: one number, or mostly one a channel
//   below    f32, the shape of factor, or absent: factor
//   offset   f32, the shape of factor, or absent: nothing is added
//   y        the shape of x; output_dtype
//   alias    y may be x;  scratch none
// A PRelu has two factors and no offset, a BatchNormalization one and an offset.
// Source: INTEGER.md "IntAffine".
#include "sdk/ops/int_affine/int_affine_generated.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

Status infer_int_affine(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntAffine>();
  VIREO_TRY(check_codes(ctx, 0, a.x_zero()));
  const Shape &x = ctx.input(0).shape, &factor = ctx.input(1).shape;
  Shape& y = ctx.output(0).shape;
  VIREO_TRY(broadcast(ctx, x, factor, &y));
  bool fits = y.rank == x.rank;
  for (int i = 0; fits && i < x.rank; ++i) fits = !ctx.differ(y[i], x[i]);
  for (int i = 1; i < 4; ++i) {
    if (!ctx.has(i)) continue;
    const TensorType& t = ctx.input(i);
    fits = fits && t.dtype == DType::kF32 && t.shape.rank == factor.rank;
    for (int d = 0; fits && d < factor.rank; ++d) fits = !ctx.differ(t.shape[d], factor[d]);
    if (!fits) {
      return ctx.fail(Status::kInvalidModel, "input {} is {} {}, wanted float32 that broadcasts to {}", i,
                      dtype_name(t.dtype), t.shape, x);
    }
  }
  y = x;
  return infer_codes(ctx, a);
}

}  // namespace

extern const OpDef kIntAffineOp;
const OpDef kIntAffineOp = {"IntAffine",  verify_attrs<attrs::IntAffine>, infer_int_affine, 2, 4, 1, 1, OpDef::kPure,
                            /*inplace=*/1};

}  // namespace vireo
