#include "sdk/ops/conv/conv.h"
#include "sdk/ops/conv/conv_generated.h"

namespace vireo {
namespace {

Status infer_conv(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  if (!dtype_is_float(x.dtype) || dtype_bits(x.dtype) < 16) {
    return ctx.fail(Status::kInvalidModel, "Conv of {}", dtype_name(x.dtype));
  }
  for (int i = 1; i < 3; ++i) {
    if (ctx.has(i) && ctx.input(i).dtype != x.dtype) {
      return ctx.fail(Status::kInvalidModel, "input 0 is {}, input {} is {}", dtype_name(x.dtype), i,
                      dtype_name(ctx.input(i).dtype));
    }
  }
  VIREO_TRY(infer_conv_shape(ctx, ctx.attrs<attrs::Conv>(), 0, 1));
  if (ctx.has(2)) {
    const Shape& b = ctx.input(2).shape;
    if (b.rank != 1 || ctx.differ(b[0], ctx.input(1).shape[0])) {
      return ctx.fail(Status::kInvalidModel, "bias is {}, wanted one value for each of {} output channels", b,
                      ctx.input(1).shape[0]);
    }
  }
  ctx.output(0).dtype = x.dtype;
  return Status::kOk;
}

}  // namespace

extern const OpDef kConvOp;
const OpDef kConvOp = {"Conv", verify_attrs<attrs::Conv>, infer_conv, 2, 3, 1, 1, OpDef::kPure, /*inplace=*/0};

}  // namespace vireo
