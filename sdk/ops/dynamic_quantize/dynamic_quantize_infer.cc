// Quantizes to uint8 by the range of the data, 0 included:
//   scale = (max(x, 0) - min(x, 0)) / 255, or 1 when x is all 0;  zero_point = rne(clamp(-min / scale))
//   y = clamp(rne(x / scale) + zero_point)
//   x   f32;  y [as x] u8, scale [] f32, zero_point [] u8;  all arithmetic in float32
//   alias none; scratch none
// Source: ONNX opset 11 "DynamicQuantizeLinear".
#include "sdk/ops/dynamic_quantize/dynamic_quantize_generated.h"
#include "sdk/ops/op.h"

namespace vireo {
namespace {

Status infer_dynamic_quantize(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  if (x.dtype != DType::kF32)
    return ctx.fail(Status::kInvalidModel, "DynamicQuantizeLinear of {}", dtype_name(x.dtype));
  ctx.output(0) = {DType::kU8, x.shape};
  if (ctx.wants(1)) ctx.output(1) = {DType::kF32, {}};
  if (ctx.wants(2)) ctx.output(2) = {DType::kU8, {}};
  return Status::kOk;
}

}  // namespace

extern const OpDef kDynamicQuantizeLinearOp;
const OpDef kDynamicQuantizeLinearOp = {"DynamicQuantizeLinear",
                                        verify_attrs<attrs::DynamicQuantizeLinear>,
                                        infer_dynamic_quantize,
                                        1,
                                        1,
                                        1,
                                        3,
                                        OpDef::kPure,
                                        /*inplace=*/0};

}  // namespace vireo
