// Running sums (CumSum) and products (CumProd) along one axis.
//   x        any shape of rank 1 or more; a float or an integer of 32 or 64 bits
//   axis     one int32 or int64, in [-rank, rank)
//   y        shape and dtype of x
//   alias    y may be x;  scratch none
//   accuracy floats accumulate in float64 and each result rounds once; integers wrap
// Source: ONNX opset 14 "CumSum", opset 26 "CumProd".
#include "sdk/ops/cumulative/cumulative_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_cumulative(InferContext& ctx) {
  VIREO_TRY(check_type(
      ctx, 0,
      kFloatSet | type_set(DType::kI32) | type_set(DType::kI64) | type_set(DType::kU32) | type_set(DType::kU64)));
  VIREO_TRY(check_integer_list(ctx, 1));
  VIREO_TRY(check_one_element(ctx, 1));
  if (ctx.known(1) && !is_symbolic(ctx.value(1, 0))) {
    int a = 0;
    VIREO_TRY(check_axis(ctx, ctx.value(1, 0), ctx.input(0).shape.rank, &a));
  }
  return infer_same(ctx);
}

constexpr OpDef row(const char* name) {
  return {name, verify_attrs<attrs::Cumulative>, infer_cumulative, 2, 2, 1, 1, OpDef::kPure, /*inplace=*/1};
}

}  // namespace

extern const OpDef kCumSumOp;
extern const OpDef kCumProdOp;

const OpDef kCumSumOp = row("CumSum");
const OpDef kCumProdOp = row("CumProd");

}  // namespace vireo
