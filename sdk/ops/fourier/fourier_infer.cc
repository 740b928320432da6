#include "sdk/ops/fourier/fourier_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

Status check_signal(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  switch (x.dtype) {
    case DType::kF32:
    case DType::kF64:
    case DType::kF16:
    case DType::kBF16:
      break;
    default:
      return ctx.fail(Status::kInvalidModel, "signal of type {}, wanted floating point", dtype_name(x.dtype));
  }
  const Dim parts = x.shape[x.shape.rank - 1];
  if (ctx.differ(parts, 1) && ctx.differ(parts, 2)) {
    return ctx.fail(Status::kInvalidModel, "the signal's last axis is {} long, wanted 1 (real) or 2 (complex)", parts);
  }
  if (ctx.attrs<attrs::Fourier>().onesided() && !ctx.attrs<attrs::Fourier>().inverse() && ctx.differ(parts, 1)) {
    return ctx.fail(Status::kInvalidModel, "onesided needs a real signal: a complex one has no mirrored bins");
  }
  return Status::kOk;
}

// A scalar input that must be at least 1; `otherwise` where it is not known.
Status positive(InferContext& ctx, int i, Dim otherwise, Dim* out) {
  const TensorType& t = ctx.input(i);
  if ((t.dtype != DType::kI32 && t.dtype != DType::kI64) || t.shape.rank > 1) {
    return ctx.fail(Status::kInvalidModel, "input {} is {} of rank {}, wanted an int32 or int64 scalar", i,
                    dtype_name(t.dtype), t.shape.rank);
  }
  VIREO_TRY(check_one_element(ctx, i));
  *out = ctx.known(i) ? ctx.value(i, 0) : otherwise;
  if (ctx.known(i) && !is_symbolic(*out) && *out < 1) {
    return ctx.fail(Status::kInvalidModel, "input {} is {}, wanted 1 or more", i, *out);
  }
  return Status::kOk;
}

Dim bins(InferContext& ctx, Dim n, bool onesided) { return onesided ? ctx.add(ctx.floor_div(n, 2), 1) : n; }

Status infer_dft(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Fourier>();
  VIREO_TRY(check_rank(ctx, 0, 2, kMaxRank));
  VIREO_TRY(check_signal(ctx));
  Shape s = ctx.input(0).shape;
  int axis = s.rank - 2;
  bool axis_known = true;
  if (ctx.has(2)) {
    VIREO_TRY(check_rank(ctx, 2, 0, 1));
    VIREO_TRY(check_one_element(ctx, 2));
    axis_known = ctx.known(2) && !is_symbolic(ctx.value(2, 0));
    if (axis_known) VIREO_TRY(check_axis(ctx, ctx.value(2, 0), s.rank, &axis));
  }
  if (axis == s.rank - 1)
    return ctx.fail(Status::kInvalidModel, "axis {} is the one of real and imaginary parts", axis);
  const bool real_output = a.inverse() && a.onesided();
  if (axis_known) {
    Dim n = real_output ? ctx.mul(2, ctx.sub(s[axis], 1)) : s[axis];
    if (ctx.has(1)) VIREO_TRY(positive(ctx, 1, ctx.known(1) ? 0 : ctx.unknown(), &n));
    if (!is_symbolic(n) && n < 0) return ctx.fail(Status::kInvalidModel, "a spectrum without bins has no length");
    s[axis] = a.inverse() ? n : bins(ctx, n, a.onesided());
  } else if (ctx.has(1)) {
    for (int i = 0; i < s.rank - 1; ++i) s[i] = ctx.unknown();
  } else if (a.onesided()) {
    for (int i = 0; i < s.rank - 1; ++i) {
      s[i] = ctx.bounded(ctx.max(s[i], real_output ? ctx.mul(2, ctx.sub(s[i], 1)) : 1));
    }
  }
  s[s.rank - 1] = real_output ? 1 : 2;
  ctx.output(0) = {ctx.input(0).dtype, s};
  return Status::kOk;
}

Status infer_stft(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Fourier>();
  VIREO_TRY(check_rank(ctx, 0, 3, 3));
  VIREO_TRY(check_signal(ctx));
  const TensorType& x = ctx.input(0);
  Dim step = 0;
  VIREO_TRY(positive(ctx, 1, 1, &step));
  const bool every = !ctx.known(1);  // a step of 1 gives the most frames
  bool shorter = false;              // the frame's length is not known: the signal's is the most
  Dim n = x.shape[1];
  if (ctx.has(2)) {
    VIREO_TRY(check_rank(ctx, 2, 1, 1));
    if (ctx.input(2).dtype != x.dtype) {
      return ctx.fail(Status::kInvalidModel, "window is {} but the signal is {}", dtype_name(ctx.input(2).dtype),
                      dtype_name(x.dtype));
    }
    n = ctx.input(2).shape[0];
  }
  if (ctx.has(3)) {
    Dim length = 0;
    VIREO_TRY(positive(ctx, 3, ctx.has(2) || ctx.known(3) ? 0 : ctx.bounded(x.shape[1]), &length));
    if (!ctx.has(2)) {
      n = length;
      shorter = !ctx.known(3);
    } else if (ctx.known(3) && ctx.differ(length, n)) {
      return ctx.fail(Status::kInvalidModel, "frame_length is {} but the window has {} samples", length, n);
    }
  }
  if (!is_symbolic(n) && !is_symbolic(x.shape[1]) && (n < 1 || n > x.shape[1])) {
    return ctx.fail(Status::kInvalidModel, "frames of {} samples over a signal of {}", n, x.shape[1]);
  }
  Dim frames = ctx.add(ctx.floor_div(ctx.sub(x.shape[1], n), step), 1);
  if (every || shorter) frames = ctx.bounded(shorter ? x.shape[1] : frames);
  ctx.output(0) = {x.dtype, Shape{4, {x.shape[0], frames, bins(ctx, n, a.onesided()), 2}}};
  return Status::kOk;
}

}  // namespace

extern const OpDef kDFTOp;
const OpDef kDFTOp = {"DFT", verify_attrs<attrs::Fourier>, infer_dft, 1, 3, 1, 1, OpDef::kPure, /*inplace=*/0};
extern const OpDef kSTFTOp;
const OpDef kSTFTOp = {"STFT", verify_attrs<attrs::Fourier>, infer_stft, 2, 4, 1, 1, OpDef::kPure, /*inplace=*/0};

}  // namespace vireo
