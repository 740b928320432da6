// e[k] = table[max_j x[j] - x[k]];  sum = e[0] + e[1] + ..., exact int64;  q = multiplier / float(sum)
// y[k] = clamp(rne(float(e[k]) * q) + y_zero)
// With `kept` the maximum is that of what is kept, and e of all else is 0; where a line keeps nothing, all e are
// table[0].
//   x       i8 or u8
//   table   i32 [256], entries 0 to 2^24, so that float() of one is exact; entry d is rne(2^23 * exp(-d * x's scale))
//   kept    bool, broadcast to x; absent: all of x is kept
//   y       the shape of x; output_dtype
//   The division and the product are one float32 operation each; float(sum) rounds to nearest even.
//   alias   y may be x;  scratch none
// Source: INTEGER.md "IntSoftmax".
#include "sdk/ops/int_softmax/int_softmax_generated.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

Status infer_int_softmax(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntSoftmax>();
  VIREO_TRY(check_bytes(ctx, 0, 0));
  const Shape& x = ctx.input(0).shape;
  int axis = 0;
  VIREO_TRY(check_axis(ctx, a.axis(), x.rank, &axis));
  const TensorType& t = ctx.input(1);
  if (t.dtype != DType::kI32 || t.shape.rank != 1 || ctx.differ(t.shape[0], 256)) {
    return ctx.fail(Status::kInvalidModel, "the table is {} {}, wanted 256 of int32", dtype_name(t.dtype), t.shape);
  }
  if (ctx.has(2)) {
    const TensorType& kept = ctx.input(2);
    if (kept.dtype != DType::kBool)
      return ctx.fail(Status::kInvalidModel, "what is kept is {}, wanted bool", dtype_name(kept.dtype));
    Shape both;
    VIREO_TRY(broadcast(ctx, kept.shape, x, &both));
    for (int i = 0; i < both.rank; ++i) {
      if (both.rank != x.rank || ctx.differ(both[i], x[i]))
        return ctx.fail(Status::kInvalidModel, "what is kept is {}, which is not broadcast to {}", kept.shape, x);
    }
  }
  ctx.output(0).shape = x;
  return infer_codes(ctx, a, CodeKind::kBytes);
}

}  // namespace

extern const OpDef kIntSoftmaxOp;
const OpDef kIntSoftmaxOp = {"IntSoftmax", verify_attrs<attrs::IntSoftmax>, infer_int_softmax, 2, 3, 1, 1, OpDef::kPure,
                             /*inplace=*/1};

}  // namespace vireo
