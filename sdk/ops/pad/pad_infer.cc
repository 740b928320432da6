// Pad
//   inputs   data; pads i64 [2n]: before each of n axes, then after each; constant_value, one element, optional (0);
//            axes [n] optional (0..n-1)
//   y        extent d + before + after; a negative pad cuts, before the mode looks at what is left
// CenterCropPad
//   inputs   data; shape [n]: the wanted extents of the n axes
//   y        wanted extents; where d is odd or even against it, the smaller half comes first
// Every data type; no aliasing. Source: ONNX opset 25 "Pad", opset 18 "CenterCropPad".
#include "sdk/ops/pad/pad_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

constexpr Dim kLimit = Dim{1} << 40;  // no extent comes near; keeps sums of hostile pads within int64

Status infer_pad(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  if (ctx.attrs<attrs::Pad>().mode() > attrs::PadMode::wrap)
    return ctx.fail(Status::kInvalidModel, "Pad: unknown mode");
  VIREO_TRY(check_integer_list(ctx, 1));
  if (ctx.has(2) && ctx.input(2).dtype != x.dtype) {
    return ctx.fail(Status::kInvalidModel, "Pad: the value is {}, data is {}", dtype_name(ctx.input(2).dtype),
                    dtype_name(x.dtype));
  }
  if (ctx.has(2)) VIREO_TRY(check_one_element(ctx, 2));
  int64_t n = x.shape.rank;
  if (ctx.has(3)) {
    VIREO_TRY(check_integer_list(ctx, 3));
    if (!known_length(ctx, 3, &n)) return ctx.fail(Status::kUnsupported, "Pad: the number of axes is not known");
  }
  int64_t pads = 0;
  if (n > x.shape.rank || (known_length(ctx, 1, &pads) && pads != 2 * n)) {
    return ctx.fail(Status::kInvalidModel, "Pad: {} pads for {} axes of {}", pads, n, x.shape);
  }
  TensorType& y = ctx.output(0);
  y = x;
  bool seen[kMaxRank] = {};
  for (int64_t i = 0; i < n; ++i) {
    int axis = static_cast<int>(i);
    if (ctx.has(3) && !ctx.known(3)) {
      for (int k = 0; k < x.shape.rank; ++k) y.shape[k] = ctx.unknown();
      return Status::kOk;
    }
    if (ctx.has(3)) VIREO_TRY(check_axis(ctx, ctx.value(3, i), x.shape.rank, &axis));
    if (seen[axis]) return ctx.fail(Status::kInvalidModel, "Pad: axis {} is listed twice", axis);
    seen[axis] = true;
    if (!ctx.known(1)) {
      y.shape[axis] = ctx.unknown();
      continue;
    }
    const Dim before = ctx.value(1, i), after = ctx.value(1, i + n), d = x.shape[axis];
    for (const Dim p : {before, after}) {
      if (!is_symbolic(p) && (p > kLimit || p < -kLimit)) {
        return ctx.fail(Status::kInvalidModel, "Pad: axis {} gets {} elements", axis, p);
      }
    }
    const Dim sum = ctx.add(d, ctx.add(before, after));
    if (!is_symbolic(sum) && sum < 0) {
      return ctx.fail(Status::kInvalidModel, "Pad: {} and {} cut more than the {} elements of axis {}", before, after,
                      d, axis);
    }
    if (ctx.attrs<attrs::Pad>().mode() != attrs::PadMode::constant && sum != 0 && !is_symbolic(sum) &&
        !is_symbolic(d) && !is_symbolic(before) && !is_symbolic(after) &&
        d + (before < 0 ? before : 0) + (after < 0 ? after : 0) <= 0) {
      return ctx.fail(Status::kInvalidModel, "Pad: nothing is left of axis {} to repeat", axis);
    }
    y.shape[axis] = sum;
  }
  return Status::kOk;
}

Status infer_center(InferContext& ctx) {
  const TensorType& x = ctx.input(0);
  const auto* axes = ctx.attrs<attrs::CenterCropPad>().axes();
  VIREO_TRY(check_integer_list(ctx, 1));
  int64_t n = 0;
  const int64_t count = axes == nullptr ? x.shape.rank : static_cast<int64_t>(axes->size());
  if (known_length(ctx, 1, &n) && n != count) {
    return ctx.fail(Status::kInvalidModel, "CenterCropPad: {} extents for {} axes", n, count);
  }
  TensorType& y = ctx.output(0);
  y = x;
  for (int64_t i = 0; i < count; ++i) {
    int axis = 0;
    VIREO_TRY(check_axis(ctx, axes == nullptr ? i : axes->Get(static_cast<unsigned>(i)), x.shape.rank, &axis));
    const Dim d = ctx.known(1) ? ctx.value(1, i) : ctx.unknown();
    if (ctx.known(1) && !is_symbolic(d) && d < 0)
      return ctx.fail(Status::kInvalidModel, "CenterCropPad: extent {} of axis {}", d, axis);
    y.shape[axis] = d;
  }
  return Status::kOk;
}

}  // namespace

extern const OpDef kPadOp;
extern const OpDef kCenterCropPadOp;
const OpDef kPadOp = {"Pad", verify_attrs<attrs::Pad>, infer_pad, 2, 4, 1, 1, OpDef::kPure, 0};
const OpDef kCenterCropPadOp = {
    "CenterCropPad", verify_attrs<attrs::CenterCropPad>, infer_center, 2, 2, 1, 1, OpDef::kPure, 0};

}  // namespace vireo
