// y = condition ? x : z, all three broadcast to one shape.
//   condition bool;  x, z  one dtype, any whole-byte one, strings included
//   y         the broadcast shape, dtype of x
//   alias     y may be x or z;  scratch none
// Source: ONNX opset 16 "Where".
#include "sdk/ops/shared/infer.h"
#include "sdk/ops/where/where_generated.h"

namespace vireo {
namespace {

Status infer_where(InferContext& ctx) {
  VIREO_TRY(check_type(ctx, 0, kBoolSet));
  VIREO_TRY(check_same_type(ctx, 1, 2));
  if (dtype_bits(ctx.input(1).dtype) < 8) {
    return ctx.fail(Status::kUnsupported, "input 1 is {}, wanted a type of whole bytes",
                    dtype_name(ctx.input(1).dtype));
  }
  Shape chosen;
  VIREO_TRY(broadcast(ctx, ctx.input(1).shape, ctx.input(2).shape, &chosen));
  ctx.output(0).dtype = ctx.input(1).dtype;
  return broadcast(ctx, ctx.input(0).shape, chosen, &ctx.output(0).shape);
}

}  // namespace

extern const OpDef kWhereOp;
const OpDef kWhereOp = {"Where", verify_attrs<attrs::Where>, infer_where, 3, 3, 1, 1, OpDef::kPure, /*inplace=*/2 | 4};

}  // namespace vireo
