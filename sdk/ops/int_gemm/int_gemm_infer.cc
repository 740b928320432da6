// acc = bias[n] + sum_k (a[m,k] - a_zero) * (b[k,n] - b_zero[n]), exact
// y   = clamp(rne(float(acc) * multiplier[n]) + y_zero)
//   a           as MatMul, leading dimensions broadcast; i8, u8, i16 or u16
//   b           as MatMul; i8 or u8, or i4 where a has 8 bits
//   multiplier  f32, one or [N];  bias i32 [N] or absent;  b_zero of b's type (i8 for i4), one or [N], or absent: 0
//   y           as MatMul; output_dtype, which may have another width than a
//   Sums of an a of 8 bits are int32 and of 16 bits int64, as in IntConv.
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
  if (b.dtype != DType::kU8) VIREO_TRY(check_weights(ctx, 0, 1));
  VIREO_TRY(infer_matmul_shape(ctx, 0, 1, &ctx.output(0).shape));
  const Dim columns = b.shape.rank >= 2 ? b.shape[b.shape.rank - 1] : 1;
  VIREO_TRY(check_per_channel(ctx, 2, DType::kF32, columns));
  VIREO_TRY(check_per_channel(ctx, 4, b.dtype == DType::kU8 ? DType::kU8 : DType::kI8, columns));
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
