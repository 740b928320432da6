// IntAdd  v = float(a - a_zero) * a_multiplier + float(b - b_zero) * b_multiplier, each operation one float32 operation
//         y = clamp(rne(v) + y_zero)
// IntMul  y = clamp(rne(float((a - a_zero) * (b - b_zero)) * multiplier) + y_zero)
//   a, b   shapes that broadcast to one; i8, u8, i16 or u16 each
//   y      the broadcast shape; output_dtype
//   alias  y may be a or b;  scratch none
// Source: INTEGER.md "IntAdd", "IntMul".
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

template <class Attrs>
Status infer_int_binary(InferContext& ctx) {
  const auto& a = ctx.attrs<Attrs>();
  VIREO_TRY(check_codes(ctx, 0, a.a_zero()));
  VIREO_TRY(check_codes(ctx, 1, a.b_zero()));
  VIREO_TRY(broadcast(ctx, ctx.input(0).shape, ctx.input(1).shape, &ctx.output(0).shape));
  return infer_codes(ctx, a);
}

constexpr uint32_t kEitherOperand = 3;

}  // namespace

extern const OpDef kIntAddOp;
const OpDef kIntAddOp = {
    "IntAdd", verify_attrs<attrs::IntAdd>, infer_int_binary<attrs::IntAdd>, 2, 2, 1, 1, OpDef::kPure, kEitherOperand};
extern const OpDef kIntMulOp;
const OpDef kIntMulOp = {
    "IntMul", verify_attrs<attrs::IntMul>, infer_int_binary<attrs::IntMul>, 2, 2, 1, 1, OpDef::kPure, kEitherOperand};

}  // namespace vireo
