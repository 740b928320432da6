// MaxPool, AveragePool, LpPool over windows of 1, 2 or 3 spatial dimensions:
//   MaxPool      y = max x;  output 1, int64: where it stood, counted in x as [N, C, spatial...] whatever the layout
//   AveragePool  y = sum x / number of taps inside the input (count_include_pad: inside the padded input)
//   LpPool       y = (sum |x|^p)^(1/p)
//   x   [N, C, spatial...] or [N, spatial..., C]; f32, f64, f16, bf16; MaxPool also i8 and u8
// Source: ONNX opset 22 "MaxPool", "AveragePool", "LpPool".
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/shared/window.h"

namespace vireo {
namespace {

Status infer_shape(InferContext& ctx, Shape* y) {
  const auto& a = ctx.attrs<attrs::Pool>();
  Window w;
  VIREO_TRY(check_window(ctx, 0, a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads(), &w));
  w.ceil_mode = a.ceil_mode();
  const Shape& x = ctx.input(0).shape;
  if (a.kernel_shape() == nullptr || static_cast<int>(a.kernel_shape()->size()) != w.spatial) {
    return ctx.fail(Status::kInvalidModel, "kernel_shape has {} entries, an input of rank {} asks for {}",
                    a.kernel_shape() == nullptr ? 0 : static_cast<int>(a.kernel_shape()->size()), x.rank, w.spatial);
  }
  *y = x;
  for (int i = 0; i < w.spatial; ++i) {
    w.kernel[i] = a.kernel_shape()->Get(static_cast<unsigned>(i));
    const int axis = w.spatial_axis(i);
    VIREO_TRY(window_extent(ctx, w, i, x[axis], &(*y)[axis]));
  }
  return Status::kOk;
}

bool is_pool_float(DType t) { return dtype_is_float(t) && dtype_bits(t) >= 16; }

Status infer_max_pool(InferContext& ctx) {
  const DType t = ctx.input(0).dtype;
  if (!is_pool_float(t) && t != DType::kI8 && t != DType::kU8) {
    return ctx.fail(Status::kInvalidModel, "MaxPool of {}", dtype_name(t));
  }
  Shape y;
  VIREO_TRY(infer_shape(ctx, &y));
  if (ctx.wants(0)) ctx.output(0) = {t, y};
  if (ctx.wants(1)) ctx.output(1) = {DType::kI64, y};
  return Status::kOk;
}

Status infer_average(InferContext& ctx) {
  const DType t = ctx.input(0).dtype;
  if (!is_pool_float(t)) return ctx.fail(Status::kInvalidModel, "AveragePool of {}", dtype_name(t));
  ctx.output(0).dtype = t;
  return infer_shape(ctx, &ctx.output(0).shape);
}

Status infer_lp(InferContext& ctx) {
  const DType t = ctx.input(0).dtype;
  if (!is_pool_float(t)) return ctx.fail(Status::kInvalidModel, "LpPool of {}", dtype_name(t));
  if (ctx.attrs<attrs::Pool>().p() < 1) {
    return ctx.fail(Status::kInvalidModel, "p is {}, wanted at least 1", ctx.attrs<attrs::Pool>().p());
  }
  ctx.output(0).dtype = t;
  return infer_shape(ctx, &ctx.output(0).shape);
}

}  // namespace

extern const OpDef kMaxPoolOp;
const OpDef kMaxPoolOp = {"MaxPool",    verify_attrs<attrs::Pool>, infer_max_pool, 1, 1, 1, 2, OpDef::kPure,
                          /*inplace=*/0};
extern const OpDef kAveragePoolOp;
const OpDef kAveragePoolOp = {"AveragePool", verify_attrs<attrs::Pool>, infer_average, 1, 1, 1, 1, OpDef::kPure,
                              /*inplace=*/0};
extern const OpDef kLpPoolOp;
const OpDef kLpPoolOp = {"LpPool", verify_attrs<attrs::Pool>, infer_lp, 1, 1, 1, 1, OpDef::kPure, /*inplace=*/0};

}  // namespace vireo
