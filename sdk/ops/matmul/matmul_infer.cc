#include "sdk/ops/matmul/matmul.h"
#include "sdk/ops/matmul/matmul_generated.h"

namespace vireo {
namespace {

Status infer_matmul(InferContext& ctx) {
  const DType t = ctx.input(0).dtype;
  const bool number = (dtype_is_float(t) && dtype_bits(t) >= 16) || (dtype_is_integer(t) && dtype_bits(t) >= 32);
  if (!number) return ctx.fail(Status::kInvalidModel, "MatMul of {}", dtype_name(t));
  if (ctx.input(1).dtype != t) {
    return ctx.fail(Status::kInvalidModel, "MatMul of {} and {}", dtype_name(t), dtype_name(ctx.input(1).dtype));
  }
  ctx.output(0).dtype = t;
  return infer_matmul_shape(ctx, 0, 1, &ctx.output(0).shape);
}

}  // namespace

extern const OpDef kMatMulOp;
const OpDef kMatMulOp = {"MatMul", verify_attrs<attrs::MatMul>, infer_matmul, 2, 2, 1, 1, OpDef::kPure, /*inplace=*/0};

}  // namespace vireo
