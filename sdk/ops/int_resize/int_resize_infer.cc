// acc = sum over the taps of all axes of (x - x_zero) * (the product of their weights), exact int32
// y   = clamp(rne(float(acc) * multiplier) + y_zero)
//   x                   i8 or u8
//   places_a, weights_a for each axis a that is resampled, in the order of `axes`: i32 [extent of y, taps]; output
//                       position i takes x at places_a[i, j] with weight weights_a[i, j]. Places lie inside x; a run
//                       refuses others
//   y                   the shape of x but for the axes; output_dtype
//   The converter makes the weights so that no sum leaves int32.
//   alias none; scratch none
// Source: INTEGER.md "IntResize".
#include "sdk/ops/int_resize/int_resize.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

Status infer_int_resize(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntResize>();
  VIREO_TRY(check_bytes(ctx, 0, a.x_zero()));
  const Shape& x = ctx.input(0).shape;
  const int count = a.axes() == nullptr ? 0 : static_cast<int>(a.axes()->size());
  if (count < 1 || count > kMaxIntResizeAxes || ctx.input_count() != 1 + 2 * count) {
    return ctx.fail(Status::kInvalidModel, "{} axes and {} inputs, wanted 1 to {} axes, places and weights for each",
                    count, ctx.input_count(), kMaxIntResizeAxes);
  }
  Shape& y = ctx.output(0).shape;
  y = x;
  int64_t outer = 1;
  for (int k = 0; k < count; ++k) {
    const int axis = a.axes()->Get(static_cast<unsigned>(k));
    const bool rises = k == 0 || axis > a.axes()->Get(static_cast<unsigned>(k) - 1);
    if (axis < 0 || axis >= x.rank || !rises) {
      return ctx.fail(Status::kInvalidModel, "axis {} is outside of rank {}, or not above the one before", axis,
                      x.rank);
    }
    const int at = 1 + 2 * k;
    for (int i = at; i < at + 2; ++i) {
      const TensorType& t = ctx.input(i);
      if (t.dtype != DType::kI32 || t.shape.rank != 2 || is_symbolic(t.shape[0]) || is_symbolic(t.shape[1]) ||
          t.shape[1] < 1 || t.shape != ctx.input(at).shape) {
        return ctx.fail(Status::kInvalidModel, "input {} is {} {}, wanted int32 [positions, taps]", i,
                        dtype_name(t.dtype), t.shape);
      }
    }
    y[axis] = ctx.input(at).shape[0];
    const int64_t taps = ctx.input(at).shape[1];
    if (axis == x.rank - 1) continue;
    if (taps > kMaxIntResizeOuter / outer) {
      return ctx.fail(Status::kUnsupported, "more than {} taps together on the axes before the last",
                      kMaxIntResizeOuter);
    }
    outer *= taps;
  }
  return infer_codes(ctx, a, CodeKind::kBytes);
}

}  // namespace

extern const OpDef kIntResizeOp;
const OpDef kIntResizeOp = {
    "IntResize",  verify_attrs<attrs::IntResize>, infer_int_resize, 3, 1 + 2 * kMaxIntResizeAxes, 1, 1, OpDef::kPure,
    /*inplace=*/0};

}  // namespace vireo
