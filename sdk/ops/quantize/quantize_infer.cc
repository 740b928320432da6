#include "sdk/ops/quantize/quantize.h"

#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

bool is_coded(DType t) {
  int32_t low, high;
  return small_integer_range(t, &low, &high) || narrow_float(t) != nullptr;
}
bool is_real(DType t) { return t == DType::kF32 || t == DType::kF16 || t == DType::kBF16; }

Status check_scale_shape(InferContext& ctx, int64_t axis, int64_t block) {
  const Shape& x = ctx.input(0).shape;
  const Shape& s = ctx.input(1).shape;
  if (block < 0) return ctx.fail(Status::kInvalidModel, "block_size is {}", block);
  if (block > 0) {
    int a = 0;
    VIREO_TRY(check_axis(ctx, axis, x.rank, &a));
    bool fits = s.rank == x.rank;
    for (int i = 0; fits && i < x.rank; ++i) fits = !ctx.differ(s[i], i == a ? ctx.ceil_div(x[i], block) : x[i]);
    if (!fits) {
      return ctx.fail(Status::kInvalidModel, "scale {} does not cover {} in blocks of {} along axis {}", s, x, block,
                      a);
    }
  } else if (s.rank == 1 && s[0] != 1) {
    int a = 0;
    VIREO_TRY(check_axis(ctx, axis, x.rank, &a));
    if (ctx.differ(s[0], x[a])) {
      return ctx.fail(Status::kInvalidModel, "{} scales for an axis of {} elements", s[0], x[a]);
    }
  } else if (s.rank > 1) {
    return ctx.fail(Status::kInvalidModel, "scale {} is neither a number nor a vector, and block_size is 0", s);
  }
  if (ctx.has(2)) {
    const Shape& z = ctx.input(2).shape;
    // A number and a vector of one are the same. An empty vector is neither: a kernel reads one zero point for a
    // number.
    bool fits = z.rank == s.rank || (z.rank + s.rank == 1 && !ctx.differ(z.rank == 1 ? z[0] : s[0], 1));
    for (int i = 0; fits && i < z.rank && i < s.rank; ++i) fits = !ctx.differ(z[i], s[i]);
    if (!fits) return ctx.fail(Status::kInvalidModel, "zero point {} has another shape than scale {}", z, s);
  }
  return Status::kOk;
}

Status infer_quantize(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::QuantizeLinear>();
  const DType x = ctx.input(0).dtype, scale = ctx.input(1).dtype;
  if (!is_real(x) && x != DType::kI32) return ctx.fail(Status::kInvalidModel, "QuantizeLinear of {}", dtype_name(x));
  if (!is_real(scale) && scale != DType::kI32 && scale != DType::kF8E8M0) {
    return ctx.fail(Status::kInvalidModel, "a scale of {}", dtype_name(scale));
  }
  DType y = static_cast<DType>(a.output_dtype());
  if (ctx.has(2)) {
    if (y != DType::kNone && y != ctx.input(2).dtype) {
      return ctx.fail(Status::kInvalidModel, "output_dtype is {} but the zero point is {}", dtype_name(y),
                      dtype_name(ctx.input(2).dtype));
    }
    y = ctx.input(2).dtype;
  }
  if (y == DType::kNone) y = DType::kU8;
  if (!is_coded(y)) return ctx.fail(Status::kInvalidModel, "QuantizeLinear to {}", dtype_name(y));
  const DType precision = static_cast<DType>(a.precision());
  if (precision != DType::kNone && !is_real(precision)) {
    return ctx.fail(Status::kInvalidModel, "a division in {}", dtype_name(precision));
  }
  VIREO_TRY(check_scale_shape(ctx, a.axis(), a.block_size()));
  ctx.output(0) = {y, ctx.input(0).shape};
  return Status::kOk;
}

Status infer_dequantize(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::DequantizeLinear>();
  const DType x = ctx.input(0).dtype, scale = ctx.input(1).dtype;
  if (!is_coded(x) && x != DType::kI32) return ctx.fail(Status::kInvalidModel, "DequantizeLinear of {}", dtype_name(x));
  if (!is_real(scale) && scale != DType::kF8E8M0)
    return ctx.fail(Status::kInvalidModel, "a scale of {}", dtype_name(scale));
  if (ctx.has(2) && ctx.input(2).dtype != x) {
    return ctx.fail(Status::kInvalidModel, "the input is {} but the zero point is {}", dtype_name(x),
                    dtype_name(ctx.input(2).dtype));
  }
  DType y = static_cast<DType>(a.output_dtype());
  if (y == DType::kNone) y = scale == DType::kF8E8M0 ? DType::kF32 : scale;
  if (!is_real(y)) return ctx.fail(Status::kInvalidModel, "DequantizeLinear to {}", dtype_name(y));
  VIREO_TRY(check_scale_shape(ctx, a.axis(), a.block_size()));
  ctx.output(0) = {y, ctx.input(0).shape};
  return Status::kOk;
}

}  // namespace

extern const OpDef kQuantizeLinearOp;
const OpDef kQuantizeLinearOp = {
    "QuantizeLinear", verify_attrs<attrs::QuantizeLinear>, infer_quantize, 2, 3, 1, 1, OpDef::kPure, /*inplace=*/1};
extern const OpDef kDequantizeLinearOp;
const OpDef kDequantizeLinearOp = {
    "DequantizeLinear", verify_attrs<attrs::DequantizeLinear>, infer_dequantize, 2, 3, 1, 1, OpDef::kPure,
    /*inplace=*/1};

}  // namespace vireo
