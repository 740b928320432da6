// Depthwise convolution along time that sees the past alone, and carries its last k - 1 samples to the next call.
//   0 x [B, C, T], 1 w [C, 1, k], 2 b [C], optional, 3 past [B, C, k - 1], optional, else 0
//   y [B, C, T]: y[t] = b + sum_j w[j] z[t + j], z = past and x joined along time;  present [B, C, k - 1]: the end of z
//   dtype  f32, f16, bf16; sums in f32;  alias none;  scratch none
// Source: ONNX opset 27 "CausalConvWithState".
#include "sdk/ops/causal_conv/causal_conv_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status check(InferContext& ctx, int i, const char* name, const Shape& want) {
  if (!ctx.has(i)) return Status::kOk;
  const TensorType &t = ctx.input(i), &x = ctx.input(0);
  bool fits = t.dtype == x.dtype && t.shape.rank == want.rank;
  for (int d = 0; fits && d < want.rank; ++d) fits = !ctx.differ(t.shape[d], want[d]);
  if (fits) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "{} is {} {}, wanted {} {}", name, dtype_name(t.dtype), t.shape,
                  dtype_name(x.dtype), want);
}

Status infer_causal_conv(InferContext& ctx) {
  VIREO_TRY(check_rank(ctx, 0, 3, 3));
  VIREO_TRY(check_rank(ctx, 1, 3, 3));
  const TensorType& x = ctx.input(0);
  if (x.dtype != DType::kF32 && x.dtype != DType::kF16 && x.dtype != DType::kBF16) {
    return ctx.fail(Status::kInvalidModel, "input of type {}, wanted float, float16 or bfloat16", dtype_name(x.dtype));
  }
  const Dim batch = x.shape[0], channels = x.shape[1], k = ctx.input(1).shape[2];
  if (!is_symbolic(k) && k < 1) return ctx.fail(Status::kInvalidModel, "a kernel of {} samples", k);
  const Shape state = {3, {batch, channels, ctx.sub(k, 1)}};
  VIREO_TRY(check(ctx, 1, "weight", Shape{3, {channels, 1, k}}));
  VIREO_TRY(check(ctx, 2, "bias", Shape{1, {channels}}));
  VIREO_TRY(check(ctx, 3, "past_state", state));
  if (ctx.wants(0)) ctx.output(0) = x;
  if (ctx.wants(1)) ctx.output(1) = {x.dtype, state};
  return Status::kOk;
}

}  // namespace

extern const OpDef kCausalConvWithStateOp;
const OpDef kCausalConvWithStateOp = {
    "CausalConvWithState", verify_attrs<attrs::CausalConv>, infer_causal_conv, 2, 4, 1, 2, OpDef::kPure, /*inplace=*/0};

}  // namespace vireo
