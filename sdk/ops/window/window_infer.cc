// Windows and weights that follow from a few numbers.
//   Hann, Hamming, Blackman: size (scalar i32, i64) -> y [size]
//   MelWeightMatrix: mel bins, DFT length, sample rate (scalars i32, i64), lower and upper edge in Hz (scalars,
//   floating
//     point) -> y [length / 2 + 1, mel bins]
//   dtype  of y: every whole-byte number
// Source: ONNX opset 17 of each.
#include "sdk/ops/shared/infer.h"
#include "sdk/ops/window/window_generated.h"

namespace vireo {
namespace {

Status output_type(InferContext& ctx, DType* t) {
  *t = static_cast<DType>(ctx.attrs<attrs::Window>().dtype());
  const bool whole_byte = dtype_is_integer(*t) && dtype_bits(*t) >= 8;
  if (whole_byte || *t == DType::kF32 || *t == DType::kF64 || *t == DType::kF16 || *t == DType::kBF16)
    return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "output_datatype {}, wanted a number", dtype_name(*t));
}

Status scalar(InferContext& ctx, int i, Dim* out) {
  const TensorType& t = ctx.input(i);
  if ((t.dtype != DType::kI32 && t.dtype != DType::kI64) || t.shape.rank > 1) {
    return ctx.fail(Status::kInvalidModel, "input {} is {} of rank {}, wanted an int32 or int64 scalar", i,
                    dtype_name(t.dtype), t.shape.rank);
  }
  VIREO_TRY(check_one_element(ctx, i));
  *out = ctx.known(i) ? ctx.value(i, 0) : ctx.unknown();
  if (ctx.known(i) && !is_symbolic(*out) && *out < 0) {
    return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted 0 or more", i, *out);
  }
  return Status::kOk;
}

Status infer_window(InferContext& ctx) {
  DType t = DType::kNone;
  VIREO_TRY(output_type(ctx, &t));
  Dim size = 0;
  VIREO_TRY(scalar(ctx, 0, &size));
  ctx.output(0) = {t, Shape{1, {size}}};
  return Status::kOk;
}

Status infer_mel(InferContext& ctx) {
  DType t = DType::kNone;
  VIREO_TRY(output_type(ctx, &t));
  Dim mel = 0, length = 0, rate = 0;
  VIREO_TRY(scalar(ctx, 0, &mel));
  VIREO_TRY(scalar(ctx, 1, &length));
  VIREO_TRY(scalar(ctx, 2, &rate));
  for (int i = 3; i < 5; ++i) {
    VIREO_TRY(check_rank(ctx, i, 0, 1));
    VIREO_TRY(check_one_element(ctx, i));
    if (!dtype_is_float(ctx.input(i).dtype)) {
      return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted floating point", i,
                      dtype_name(ctx.input(i).dtype));
    }
  }
  ctx.output(0) = {t, Shape{2, {ctx.add(ctx.floor_div(length, 2), 1), mel}}};
  return Status::kOk;
}

}  // namespace

extern const OpDef kHannWindowOp;
const OpDef kHannWindowOp = {"HannWindow", verify_attrs<attrs::Window>, infer_window, 1, 1, 1, 1, OpDef::kPure, 0};
extern const OpDef kHammingWindowOp;
const OpDef kHammingWindowOp = {
    "HammingWindow", verify_attrs<attrs::Window>, infer_window, 1, 1, 1, 1, OpDef::kPure, 0};
extern const OpDef kBlackmanWindowOp;
const OpDef kBlackmanWindowOp = {
    "BlackmanWindow", verify_attrs<attrs::Window>, infer_window, 1, 1, 1, 1, OpDef::kPure, 0};
extern const OpDef kMelWeightMatrixOp;
const OpDef kMelWeightMatrixOp = {
    "MelWeightMatrix", verify_attrs<attrs::Window>, infer_mel, 5, 5, 1, 1, OpDef::kPure, 0};

}  // namespace vireo
