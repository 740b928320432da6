#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/strided.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

int64_t clamp(int64_t v, int64_t low, int64_t high) { return v < low ? low : v > high ? high : v; }

Status run_slice(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  const Tensor& starts = *ctx.in(1);
  const Tensor* axes = ctx.in(3);
  const Tensor* steps = ctx.in(4);
  StridedView from = dense_view(x.shape);
  for (int64_t i = 0; i < starts.count(); ++i) {
    const int axis = normalize_axis(axes == nullptr ? i : read_integer(axes->dtype, axes->data, i), x.shape.rank);
    const int64_t d = x.shape[axis];
    const int64_t step = steps == nullptr ? 1 : read_integer(steps->dtype, steps->data, i);
    int64_t start = read_integer(starts.dtype, starts.data, i);
    if (start < 0) start += d;
    start = step > 0 ? clamp(start, 0, d) : clamp(start, 0, d - 1);
    from.offset += start * from.strides[axis];
    from.strides[axis] *= y.shape[axis] > 1 ? step : 1;
  }
  copy_strided(x.dtype, y.shape, x.data, from, y.data, dense_view(y.shape), ctx.parallel);
  return Status::kOk;
}

}  // namespace

extern const RefKernel kSliceRef;
const RefKernel kSliceRef = {run_slice, nullptr};

}  // namespace vireo
