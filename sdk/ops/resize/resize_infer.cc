#include <math.h>

#include "sdk/ops/resize/resize_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

constexpr double kLargest = 1e12;  // of an extent

// floor(d * scale) with the product rounded to float32, as ONNX's own shape inference has it.
Status scaled(InferContext& ctx, Dim d, double scale, Dim* out) {
  if (!(scale > 0) || scale > 1e9) return ctx.fail(Status::kInvalidModel, "Resize: a scale is not a positive number");
  if (!is_symbolic(d)) {
    const double n = static_cast<double>(floorf(static_cast<float>(d) * static_cast<float>(scale)));
    if (!(n < kLargest)) return ctx.fail(Status::kInvalidModel, "Resize: {} elements are scaled too far", d);
    *out = static_cast<Dim>(n);
    return Status::kOk;
  }
  for (int64_t q = 1; q <= 64; q *= 2) {
    const double p = scale * static_cast<double>(q);
    if (p != floor(p)) continue;
    *out = ctx.floor_div(ctx.mul(d, static_cast<Dim>(p)), q);
    return Status::kOk;
  }
  *out = ctx.bounded(ctx.mul(d, static_cast<Dim>(ceil(scale))));
  return Status::kOk;
}

bool given(InferContext& ctx, int i) {
  if (!ctx.has(i)) return false;
  const Shape& s = ctx.input(i).shape;
  return !(s.rank == 1 && s[0] == 0);
}

Status check_types(InferContext& ctx, const attrs::Resize& a) {
  const DType t = ctx.input(0).dtype;
  if (a.mode() > attrs::ResizeMode::cubic || a.coordinate() > attrs::ResizeCoordinate::tf_crop_and_resize ||
      a.nearest() > attrs::ResizeNearest::by_scale || a.policy() > attrs::ResizePolicy::not_smaller) {
    return ctx.fail(Status::kInvalidModel, "Resize: unknown mode");
  }
  if (dtype_bits(t) < 8) return ctx.fail(Status::kUnsupported, "Resize of packed {}", dtype_name(t));
  const bool number = t == DType::kF32 || t == DType::kF64 || t == DType::kF16 || t == DType::kBF16 ||
                      dtype_is_integer(t) || t == DType::kC64 || t == DType::kC128;
  if (a.mode() != attrs::ResizeMode::nearest && !number) {
    return ctx.fail(Status::kUnsupported, "Resize of {} other than nearest", dtype_name(t));
  }
  if (a.mode() == attrs::ResizeMode::nearest && a.antialias()) {
    return ctx.fail(Status::kInvalidModel, "Resize: nearest has no antialias");
  }
  for (int i = 1; i < 4; ++i) {
    if (!given(ctx, i)) continue;
    VIREO_TRY(check_rank(ctx, i, 1, 1));
    const DType got = ctx.input(i).dtype;
    const bool fits = i == 1   ? got == DType::kF32 || got == DType::kF64 || got == DType::kF16 || got == DType::kBF16
                      : i == 2 ? got == DType::kF32
                               : got == DType::kI64;
    if (!fits) return ctx.fail(Status::kInvalidModel, "Resize: input {} is {}", i, dtype_name(got));
  }
  if (a.coordinate() == attrs::ResizeCoordinate::tf_crop_and_resize && !given(ctx, 1)) {
    return ctx.fail(Status::kInvalidModel, "Resize: tf_crop_and_resize needs a roi");
  }
  return Status::kOk;
}

// One scale for all axes, from sizes. `axes` has n entries.
Status keep_aspect(InferContext& ctx, const attrs::Resize& a, const int* axes, int n, Shape* y) {
  const bool larger = a.policy() == attrs::ResizePolicy::not_smaller;
  const Shape& x = ctx.input(0).shape;
  double scale = 0;
  bool open = !ctx.known(3);
  for (int i = 0; i < n && !open; ++i) {
    const Dim size = ctx.value(3, i), d = x[axes[i]];
    open = is_symbolic(size) || is_symbolic(d);
    if (open) break;
    if (d == 0 || size < 0) return ctx.fail(Status::kInvalidModel, "Resize: size {} for {} elements", size, d);
    const double s = static_cast<double>(size) / static_cast<double>(d);
    if (i == 0 || (larger ? s > scale : s < scale)) scale = s;
  }
  for (int i = 0; i < n; ++i) {
    if (open) {
      y->dims[axes[i]] = larger || !ctx.known(3) ? ctx.unknown() : ctx.bounded(ctx.value(3, i));
      continue;
    }
    const double extent = floor(scale * static_cast<double>(x[axes[i]]) + 0.5);
    if (!(extent < kLargest)) return ctx.fail(Status::kInvalidModel, "Resize: the sizes are too far apart");
    y->dims[axes[i]] = static_cast<Dim>(extent);
  }
  return Status::kOk;
}

Status infer_resize(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Resize>();
  const TensorType& x = ctx.input(0);
  VIREO_TRY(check_types(ctx, a));
  const bool by_scale = given(ctx, 2), by_size = given(ctx, 3);
  if (by_scale == by_size) return ctx.fail(Status::kInvalidModel, "Resize: wants either scales or sizes");
  int axes[kMaxRank];
  const int n = a.axes() == nullptr ? x.shape.rank : static_cast<int>(a.axes()->size());
  if (n > x.shape.rank) return ctx.fail(Status::kInvalidModel, "Resize: {} axes of {}", n, x.shape);
  bool seen[kMaxRank] = {};
  for (int i = 0; i < n; ++i) {
    VIREO_TRY(
        check_axis(ctx, a.axes() == nullptr ? i : a.axes()->Get(static_cast<unsigned>(i)), x.shape.rank, &axes[i]));
    if (seen[axes[i]]) return ctx.fail(Status::kInvalidModel, "Resize: axis {} is listed twice", axes[i]);
    seen[axes[i]] = true;
  }
  const int from = by_scale ? 2 : 3;
  if (ctx.differ(ctx.input(from).shape[0], n)) {
    return ctx.fail(Status::kInvalidModel, "Resize: {} numbers for {} axes", ctx.input(from).shape[0], n);
  }
  if (a.coordinate() == attrs::ResizeCoordinate::tf_crop_and_resize && ctx.differ(ctx.input(1).shape[0], 2 * n)) {
    return ctx.fail(Status::kInvalidModel, "Resize: roi has {} numbers for {} axes", ctx.input(1).shape[0], n);
  }
  TensorType& y = ctx.output(0);
  y = x;
  if (by_size && a.policy() != attrs::ResizePolicy::stretch) return keep_aspect(ctx, a, axes, n, &y.shape);
  for (int i = 0; i < n; ++i) {
    Dim& d = y.shape[axes[i]];
    if (!ctx.known(from)) {
      d = ctx.unknown();
    } else if (by_scale) {
      VIREO_TRY(scaled(ctx, x.shape[axes[i]], ctx.real(2, i), &d));
    } else {
      d = ctx.value(3, i);
      if (!is_symbolic(d) && (d < 0 || static_cast<double>(d) > kLargest)) {
        return ctx.fail(Status::kInvalidModel, "Resize: size {} of axis {}", d, axes[i]);
      }
    }
    if (x.shape[axes[i]] == 0 && !is_symbolic(d) && d > 0) {
      return ctx.fail(Status::kInvalidModel, "Resize: axis {} has no elements to make {} from", axes[i], d);
    }
  }
  return Status::kOk;
}

}  // namespace

extern const OpDef kResizeOp;
const OpDef kResizeOp = {"Resize", verify_attrs<attrs::Resize>, infer_resize, 1, 4, 1, 1, OpDef::kPure, 0};

}  // namespace vireo
