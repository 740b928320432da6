// y = alpha * A' * B' + beta * C,  A' = A or A transposed, B' = B or B transposed
//   A'  [M, K], B' [K, N], C broadcast to [M, N] or absent; f32, f64, f16, bf16, i32, u32, i64, u64
//   y   [M, N]
//   Integers wrap around; with an alpha or beta other than 1 they are scaled in float64 and truncated.
//   alias none; scratch none
// Source: ONNX opset 13 "Gemm".
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status infer_gemm(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Gemm>();
  const DType t = ctx.input(0).dtype;
  const bool number = (dtype_is_float(t) && dtype_bits(t) >= 16) || (dtype_is_integer(t) && dtype_bits(t) >= 32);
  if (!number) return ctx.fail(Status::kInvalidModel, "Gemm of {}", dtype_name(t));
  for (int i = 1; i < 3; ++i) {
    if (ctx.has(i) && ctx.input(i).dtype != t) {
      return ctx.fail(Status::kInvalidModel, "input 0 is {}, input {} is {}", dtype_name(t), i,
                      dtype_name(ctx.input(i).dtype));
    }
  }
  VIREO_TRY(check_rank(ctx, 0, 2, 2));
  VIREO_TRY(check_rank(ctx, 1, 2, 2));
  const Shape& as = ctx.input(0).shape;
  const Shape& bs = ctx.input(1).shape;
  const Dim ka = as[a.trans_a() ? 0 : 1], kb = bs[a.trans_b() ? 1 : 0];
  if (ctx.differ(ka, kb)) {
    return ctx.fail(Status::kInvalidModel, "Gemm of {}{} and {}{}: inner dimensions are {} and {}", as,
                    a.trans_a() ? " transposed" : "", bs, a.trans_b() ? " transposed" : "", ka, kb);
  }
  TensorType& y = ctx.output(0);
  y.dtype = t;
  y.shape.rank = 2;
  y.shape[0] = as[a.trans_a() ? 1 : 0];
  y.shape[1] = bs[a.trans_b() ? 0 : 1];
  if (ctx.has(2)) {
    const Shape& c = ctx.input(2).shape;
    bool fits = c.rank <= 2;
    for (int i = 0; fits && i < c.rank; ++i) fits = c[i] == 1 || !ctx.differ(c[i], y.shape[2 - c.rank + i]);
    if (!fits) return ctx.fail(Status::kInvalidModel, "C is {}, which does not broadcast to {}", c, y.shape);
  }
  return Status::kOk;
}

}  // namespace

extern const OpDef kGemmOp;
const OpDef kGemmOp = {"Gemm", verify_attrs<attrs::Gemm>, infer_gemm, 2, 3, 1, 1, OpDef::kPure, /*inplace=*/0};

}  // namespace vireo
