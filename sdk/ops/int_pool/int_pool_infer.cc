// acc = sum (x - x_zero) over the window's taps inside the input, exact int32;  n = taps counted
// y   = clamp(rne(float(acc) * multiplier[n]) + y_zero)
//   x           as AveragePool, i8, u8, i16 or u16
//   multiplier  f32: [taps of the window + 1], or one for all where every window counts the same number
//   y           as AveragePool; output_dtype
//   A window has at most 2^31 / 255 taps, of 16 bits 2^31 / 65535, so that no sum leaves int32.
//   alias none; scratch none
// Source: INTEGER.md "IntAveragePool".
#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/shared/integer.h"
#include "sdk/ops/shared/window.h"

namespace vireo {
namespace {

Status infer_int_pool(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntAveragePool>();
  VIREO_TRY(check_codes(ctx, 0, a.x_zero()));
  const int64_t most_taps = INT32_MAX / (is_half_word(ctx.input(0).dtype) ? 65535 : 255);
  Window w;
  VIREO_TRY(check_window(ctx, 0, a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads(), &w));
  w.ceil_mode = a.ceil_mode();
  const Shape& x = ctx.input(0).shape;
  if (a.kernel_shape() == nullptr || static_cast<int>(a.kernel_shape()->size()) != w.spatial) {
    return ctx.fail(Status::kInvalidModel, "kernel_shape has {} entries, an input of rank {} asks for {}",
                    a.kernel_shape() == nullptr ? 0 : static_cast<int>(a.kernel_shape()->size()), x.rank, w.spatial);
  }
  Shape& y = ctx.output(0).shape;
  y = x;
  int64_t taps = 1;
  for (int i = 0; i < w.spatial; ++i) {
    w.kernel[i] = a.kernel_shape()->Get(static_cast<unsigned>(i));
    const int axis = w.spatial_axis(i);
    VIREO_TRY(window_extent(ctx, w, i, x[axis], &y[axis]));  // refuses extents below 1
    if (w.kernel[i] > most_taps / taps) {
      return ctx.fail(Status::kUnsupported, "a window of more than {} taps: its sum may leave int32", most_taps);
    }
    taps *= w.kernel[i];
  }
  const TensorType& m = ctx.input(1);
  if (m.dtype != DType::kF32 || m.shape.rank != 1 || (m.shape[0] != 1 && ctx.differ(m.shape[0], taps + 1))) {
    return ctx.fail(Status::kInvalidModel, "multipliers are {} {}, wanted float32, one or {}", dtype_name(m.dtype),
                    m.shape, taps + 1);
  }
  return infer_codes(ctx, a);
}

}  // namespace

extern const OpDef kIntAveragePoolOp;
const OpDef kIntAveragePoolOp = {"IntAveragePool", verify_attrs<attrs::IntAveragePool>, infer_int_pool, 2, 2, 1, 1,
                                 OpDef::kPure,
                                 /*inplace=*/0};

}  // namespace vireo
