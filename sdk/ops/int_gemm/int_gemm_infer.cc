// acc = bias[n] + sum_k (a[m,k] - a_zero) * (b[k,n] - b_zero[n]), exact int32
// y   = clamp(rne(float(acc) * multiplier[n]) + y_zero)
//   a, b        as MatMul, leading dimensions broadcast; i8 or u8 each
//   multiplier  f32, one or [N];  bias i32 [N] or absent;  b_zero of b's type, one or [N], or absent: 0
//   y           as MatMul; output_dtype
//   The converter makes it only where no sum can leave int32; sums of other files wrap around.
//   alias none; scratch none
// Source: INTEGER.md "IntGemm".
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/matmul/matmul.h"
#include "sdk/ops/shared/integer.h"

namespace vireo {
namespace {

Status infer_int_gemm(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::IntGemm>();
  VIREO_TRY(check_codes(ctx, 0, a.a_zero()));
  const TensorType& b = ctx.input(1);
  if (!is_byte(b.dtype)) return ctx.fail(Status::kInvalidModel, "input 1 is {}", dtype_name(b.dtype));
  VIREO_TRY(infer_matmul_shape(ctx, 0, 1, &ctx.output(0).shape));
  const Dim columns = b.shape.rank >= 2 ? b.shape[b.shape.rank - 1] : 1;
  VIREO_TRY(check_per_channel(ctx, 2, DType::kF32, columns));
  VIREO_TRY(check_per_channel(ctx, 4, b.dtype, columns));
  if (ctx.has(3)) {
    const TensorType& c = ctx.input(3);
    if (c.dtype != DType::kI32 || c.shape.rank != 1 || ctx.differ(c.shape[0], columns)) {
      return ctx.fail(Status::kInvalidModel, "bias is {} {}, wanted int32 for each of {} columns", dtype_name(c.dtype),
                      c.shape, columns);
    }
  }
  return infer_codes(ctx, a);
}

}  // namespace

extern const OpDef kIntGemmOp;
const OpDef kIntGemmOp = {"IntGemm",    verify_attrs<attrs::IntGemm>, infer_int_gemm, 3, 5, 1, 1, OpDef::kPure,
                          /*inplace=*/0};

}  // namespace vireo
