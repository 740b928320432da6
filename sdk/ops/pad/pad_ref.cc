#include "sdk/ops/kernel.h"
#include "sdk/ops/pad/pad_generated.h"
#include "sdk/ops/shared/strided.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

alignas(16) constexpr uint8_t kZero[16] = {};

// Where the kept part of each axis starts in x and in y, and how long it is.
struct Kept {
  int64_t from[kMaxRank], to[kMaxRank];
  Shape extents;
};

Kept keep_all(const Shape& s) {
  Kept k = {};
  k.extents = s;
  return k;
}

// d elements with `before` in front (negative: cut there) and `after` behind.
void keep(Kept* k, int axis, int64_t d, int64_t before, int64_t after) {
  k->from[axis] = before < 0 ? -before : 0;
  k->to[axis] = before < 0 ? 0 : before;
  const int64_t n = d - k->from[axis] + (after < 0 ? after : 0);
  k->extents[axis] = n < 0 ? 0 : n;
}

void copy_kept(const Tensor& x, const Kept& k, Tensor& y) {
  StridedView from = dense_view(x.shape), to = dense_view(y.shape);
  for (int i = 0; i < x.shape.rank; ++i) {
    from.offset += k.from[i] * from.strides[i];
    to.offset += k.to[i] * to.strides[i];
  }
  copy_strided(x.dtype, k.extents, x.data, from, y.data, to);
}

// The place in [0, n) that position i, outside it, repeats.
int64_t source_of(attrs::PadMode mode, int64_t i, int64_t n) {
  if (mode == attrs::PadMode::edge) return i < 0 ? 0 : n - 1;
  const int64_t period = mode == attrs::PadMode::wrap ? n : 2 * (n - 1);
  if (period == 0) return 0;
  i %= period;
  if (i < 0) i += period;
  return i < n ? i : period - i;
}

// Axis by axis: the padding of an axis repeats slabs of what the axes before it and the kept part have filled.
void repeat(attrs::PadMode mode, const Kept& k, Tensor& y) {
  Shape slab = k.extents;
  StridedView view = dense_view(y.shape);
  int64_t base = 0;
  for (int i = 0; i < y.shape.rank; ++i) base += k.to[i] * view.strides[i];
  for (int axis = 0; axis < y.shape.rank; ++axis) {
    const int64_t n = k.extents[axis], stride = view.strides[axis];
    slab[axis] = 1;
    for (int64_t i = -k.to[axis]; i < y.shape[axis] - k.to[axis]; ++i) {
      if (i >= 0 && i < n) continue;
      StridedView from = view, to = view;
      from.offset = base + source_of(mode, i, n) * stride;
      to.offset = base + i * stride;
      copy_strided(y.dtype, slab, y.data, from, y.data, to);
    }
    slab[axis] = y.shape[axis];
    base -= k.to[axis] * stride;
  }
}

Status run_pad(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  const Tensor& pads = *ctx.in(1);
  const Tensor* value = ctx.in(2);
  const Tensor* axes = ctx.in(3);
  Tensor& y = *ctx.out(0);
  const attrs::PadMode mode = ctx.attrs<attrs::Pad>().mode();
  Kept k = keep_all(x.shape);
  const int64_t n = pads.count() / 2;
  for (int64_t i = 0; i < n; ++i) {
    const int axis = normalize_axis(axes == nullptr ? i : read_integer(axes->dtype, axes->data, i), x.shape.rank);
    keep(&k, axis, x.shape[axis], read_integer(pads.dtype, pads.data, i), read_integer(pads.dtype, pads.data, i + n));
  }
  if (mode == attrs::PadMode::constant) {
    fill_strided(y.dtype, y.shape, value == nullptr ? kZero : value->data, y.data, dense_view(y.shape));
  }
  copy_kept(x, k, y);
  if (mode != attrs::PadMode::constant) repeat(mode, k, y);
  return Status::kOk;
}

Status run_center(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  Kept k = keep_all(x.shape);
  for (int i = 0; i < x.shape.rank; ++i) {
    const int64_t more = y.shape[i] - x.shape[i];
    const int64_t before = more / 2;  // towards 0: the smaller half, padded or cut, is in front
    keep(&k, i, x.shape[i], before, more - before);
  }
  fill_strided(y.dtype, y.shape, kZero, y.data, dense_view(y.shape));
  copy_kept(x, k, y);
  return Status::kOk;
}

}  // namespace

extern const RefKernel kPadRef;
extern const RefKernel kCenterCropPadRef;
const RefKernel kPadRef = {run_pad, nullptr};
const RefKernel kCenterCropPadRef = {run_center, nullptr};

}  // namespace vireo
