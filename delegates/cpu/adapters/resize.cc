// Resize of two neighbouring axes: nearest for all plain types, linear and cubic for float32 and bytes. They are the
// last two of planes, or channels stand behind them.
#include "sdk/ops/resize/resize.h"
#include "delegates/cpu/cpu_op.h"
#include "delegates/cpu/kernels/resample/resample.h"
#include "sdk/base/sizes.h"

namespace vireo {
namespace {

using cpu::Axis;
using cpu::Planes;

int64_t taps_of(const attrs::Resize& a) {
  return a.mode() == attrs::ResizeMode::nearest ? 1 : a.mode() == attrs::ResizeMode::linear ? 2 : 4;
}

// Positions and weights of all axes (as the reference keeps them), then rows of sums.
int64_t tables_bytes(const attrs::Resize& a, const Shape& y) {
  const int64_t wide = a.mode() == attrs::ResizeMode::nearest ? 0 : taps_of(a);
  int64_t words = 0;
  for (int k = 0; k < y.rank; ++k) words += y[k] * (1 + wide);
  return (words * 8 + 63) / 64 * 64;
}

// `last`: the second of the two axes.
int64_t rows_bytes(const attrs::Resize& a, const Shape& x, const Shape& y, int last, int32_t slots) {
  if (a.mode() == attrs::ResizeMode::nearest) return 0;
  return static_cast<int64_t>(
      cpu::resample_scratch_bytes(taps_of(a), x[last], y[last], product(y, last + 1, y.rank), slots));
}

// The scale of axis k may be 1: known where scales are constant or extents fixed, else found in the run.
bool keeps_axis(const CpuQuery& q, const attrs::Resize& a, int k) {
  const Shape &x = q.inputs[0].type.shape, &y = q.outputs[0].type.shape;
  if (x[k] != y[k] && q.inputs[0].is_static && q.outputs[0].is_static) return false;
  int at = k;
  if (a.axes() != nullptr) {
    at = -1;
    for (unsigned i = 0; i < a.axes()->size(); ++i) {
      if (normalize_axis(a.axes()->Get(i), x.rank) == k) at = static_cast<int>(i);
    }
    if (at < 0) return true;
  }
  if (q.input_count <= 2 || q.inputs[2].constant == nullptr || q.inputs[2].type.dtype != DType::kF32) return true;
  const int64_t scales = product(q.inputs[2].type.shape, 0, q.inputs[2].type.shape.rank);
  return scales <= at || q.inputs[2].as<float>()[at] == 1;
}

// The second of the two axes: the last one that `keeps` does not hold for, or the last of all.
template <class Keeps>
int last_resized(int rank, const Keeps& keeps) {
  for (int k = rank - 1; k > 0; --k) {
    if (!keeps(k)) return k;
  }
  return keeps(0) ? rank - 1 : 1;
}

// Where extents are open, by what bounds them: a run that finds others goes to the reference.
int last_resized(const CpuQuery& q) {
  const auto& a = q.attrs<attrs::Resize>();
  const Shape &x = q.inputs[0].type.shape, &y = q.outputs[0].type.shape;
  return last_resized(x.rank, [&](int k) { return x[k] == y[k] && keeps_axis(q, a, k); });
}

int64_t scratch_bytes(const CpuQuery& q) {
  const auto& a = q.attrs<attrs::Resize>();
  const Shape& y = q.outputs[0].type.shape;
  int64_t most = int64_t{1024} * q.slots;  // above what an element, or a place on an axis, takes
  const Shape& x = q.inputs[0].type.shape;
  for (int k = 0; k < y.rank; ++k) most = size_product(most, size_sum(x[k], y[k]));
  if (most == 0) return 0;
  if (most < 0) return -1;  // extents beside a 0 can be of any size
  return tables_bytes(a, y) + rows_bytes(a, q.inputs[0].type.shape, y, last_resized(q), q.slots);
}

Axis axis_of(const ResizeAxis& axis, const ResizeTaps& taps) {
  return {axis.in, axis.out, taps.n, taps.first, taps.weights};
}

Status run(const KernelContext& ctx, const void*) {
  const auto& a = ctx.attrs<attrs::Resize>();
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  const int rank = x.shape.rank;
  ResizeAxis axis[kMaxRank];
  ResizeTaps taps[kMaxRank];
  read_resize_axes(ctx, a, axis);
  const int64_t tables = tables_bytes(a, y.shape);
  if (!make_resize_taps(a, axis, rank, ctx.scratch, taps))
    return ctx.fail(Status::kOutOfArena, "Resize: {} to {} needs more scratch than was planned", x.shape, y.shape);
  const int last = last_resized(rank, [&](int k) { return resizes_nothing(axis[k]); });
  const int64_t rows = rows_bytes(a, x.shape, y.shape, last, ctx.parallel.slots);
  bool others = tables + rows > static_cast<int64_t>(ctx.scratch.size());  // sizes that only this run knew
  for (int k = 0; k < last - 1; ++k) others = others || !resizes_nothing(axis[k]);
  if (others) return find_ref(Op::kResize)->run(ctx);
  Planes p;
  p.count = product(x.shape, 0, last - 1);
  p.y = axis_of(axis[last - 1], taps[last - 1]);
  p.x = axis_of(axis[last], taps[last]);
  p.depth = product(x.shape, last + 1, rank);
  if (a.mode() == attrs::ResizeMode::nearest) {
    cpu::pick_elements(p, x.data, y.data, dtype_bits(x.dtype) / 8, ctx.parallel);
  } else {
    const auto elements = x.dtype == DType::kF32  ? cpu::Elements::kF32
                          : x.dtype == DType::kU8 ? cpu::Elements::kU8
                                                  : cpu::Elements::kI8;
    cpu::resample(p, elements, x.data, y.data, ctx.parallel, ctx.scratch.data() + tables);
  }
  return Status::kOk;
}

constexpr CpuKernel kNearest = {"resize_nearest_planes", 0, scratch_bytes, nullptr, run};
constexpr CpuKernel kNearestPixels = {"resize_nearest_pixels", 0, scratch_bytes, nullptr, run};
constexpr CpuKernel kSmooth = {"resize_f32_planes", 0, scratch_bytes, nullptr, run};
constexpr CpuKernel kSmoothBytes = {"resize_i8_planes", 0, scratch_bytes, nullptr, run};
constexpr CpuKernel kSmoothBytePixels = {"resize_i8_pixels", 0, scratch_bytes, nullptr, run};
constexpr CpuKernel kSmoothPixels = {"resize_f32_pixels", 0, scratch_bytes, nullptr, run};

const CpuKernel* choose(const CpuQuery& q, const char** reason) {
  const auto& a = q.attrs<attrs::Resize>();
  const TensorType& x = q.inputs[0].type;
  *reason = "tuned for two neighbouring axes, without antialias and crop";
  if (x.shape.rank < 2 || q.outputs[0].type.shape.rank != x.shape.rank || a.antialias() ||
      a.coordinate() == attrs::ResizeCoordinate::tf_crop_and_resize)
    return nullptr;
  const int last = last_resized(q);
  const bool planes = last == x.shape.rank - 1;
  for (int k = 0; k < last - 1; ++k) {
    if (!keeps_axis(q, a, k)) return nullptr;
  }
  if (a.mode() == attrs::ResizeMode::nearest) {
    *reason = "tuned for elements of whole bytes";
    const int bits = dtype_bits(x.dtype);
    if (x.dtype == DType::kString || (bits != 8 && bits != 16 && bits != 32 && bits != 64)) return nullptr;
    *reason = "";
    return planes ? &kNearest : &kNearestPixels;
  }
  *reason = "linear and cubic are tuned for float32 and bytes";
  if (x.dtype == DType::kU8 || x.dtype == DType::kI8) {
    *reason = "";
    return planes ? &kSmoothBytes : &kSmoothBytePixels;
  }
  if (x.dtype != DType::kF32) return nullptr;
  *reason = "";
  return planes ? &kSmooth : &kSmoothPixels;
}

}  // namespace

extern const CpuOp kCpuOp_resize;
const CpuOp kCpuOp_resize = {"resize", choose, /*any_shape=*/true};

}  // namespace vireo
