#include "sdk/ops/resize/resize.h"

#include <math.h>
#include <string.h>

#include <limits>
#include <type_traits>

#include "sdk/base/sizes.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/strided.h"

namespace vireo {
namespace {

int64_t clamp(int64_t v, int64_t high) { return v < 0 ? 0 : v > high ? high : v; }

template <class T>
T from_double(double v) {
  if constexpr (std::is_integral<T>::value) {
    using Limits = std::numeric_limits<T>;
    v = rint(v);
    if (!(v > static_cast<double>(Limits::min()))) return Limits::min();
    return v < static_cast<double>(Limits::max()) ? static_cast<T>(v) : Limits::max();
  } else {
    return T(static_cast<compute_t<T>>(v));
  }
}

// sum over the taps of axes [k, rank) at output index i.
template <class T>
double gather(const T* x, const StridedView& dense, const ResizeAxis* axis, const ResizeTaps* taps, const int64_t* i,
              int k, int rank) {
  if (k == rank) return static_cast<double>(static_cast<compute_t<T>>(*x));
  const ResizeTaps& t = taps[k];
  const int64_t first = t.first[i[k]];
  if (t.weights == nullptr) return gather(x + first * dense.strides[k], dense, axis, taps, i, k + 1, rank);
  double sum = 0;
  for (int64_t j = 0; j < t.n; ++j) {
    const double w = t.weights[i[k] * t.n + j];
    if (w == 0) continue;
    sum += w * gather(x + clamp(first + j, axis[k].in - 1) * dense.strides[k], dense, axis, taps, i, k + 1, rank);
  }
  return sum;
}

bool outside(const ResizeTaps* taps, const int64_t* i, int rank) {
  for (int k = 0; k < rank; ++k) {
    if (taps[k].first[i[k]] == kResizeOutside) return true;
  }
  return false;
}

// A complex number is two of T: `parts`. Places outside have no imaginary part.
template <class T>
void resample(const Tensor& x, Tensor& y, const ResizeAxis* axis, const ResizeTaps* taps, double extrapolation,
              int64_t parts) {
  StridedView dense = dense_view(x.shape);
  for (int k = 0; k < x.shape.rank; ++k) dense.strides[k] *= parts;
  int64_t i[kMaxRank] = {};
  T* out = y.as<T>();
  do {
    const bool off = outside(taps, i, x.shape.rank);
    for (int64_t p = 0; p < parts; ++p) {
      const double v = !off    ? gather(x.as<const T>() + p, dense, axis, taps, i, 0, x.shape.rank)
                       : p > 0 ? 0
                               : extrapolation;
      *out++ = from_double<T>(v);
    }
  } while (next_index(y.shape, i));
}

// `value`: an element of y's type for places outside; null where there are none.
void pick(const Tensor& x, Tensor& y, const ResizeTaps* taps, const void* value) {
  const StridedView dense = dense_view(x.shape);
  int64_t i[kMaxRank] = {};
  (void)dispatch_size(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    T beyond = T();
    if (value != nullptr) memcpy(&beyond, value, sizeof(T));
    T* out = y.as<T>();
    do {
      int64_t at = 0;
      const bool off = outside(taps, i, x.shape.rank);
      for (int k = 0; k < x.shape.rank && !off; ++k) at += taps[k].first[i[k]] * dense.strides[k];
      *out++ = off ? beyond : x.as<const T>()[at];
    } while (next_index(y.shape, i));
    return Status::kOk;
  });
}

Status run_resize(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Resize>();
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  ResizeAxis axis[kMaxRank];
  ResizeTaps taps[kMaxRank];
  read_resize_axes(ctx, a, axis);
  if (!make_resize_taps(a, axis, x.shape.rank, ctx.scratch, taps)) {
    return ctx.fail(Status::kOutOfArena, "Resize: {} to {} needs more scratch than was planned", x.shape, y.shape);
  }
  const double extrapolation = static_cast<double>(a.extrapolation_value());
  const bool pairs = x.dtype == DType::kC64 || x.dtype == DType::kC128;
  const DType part = x.dtype == DType::kC64 ? DType::kF32 : x.dtype == DType::kC128 ? DType::kF64 : x.dtype;
  const int64_t parts = pairs ? 2 : 1;
  const auto for_type = [&](auto tag) {
    using T = decltype(tag);
    if (a.mode() == attrs::ResizeMode::nearest) {
      const T value[2] = {from_double<T>(extrapolation), T()};
      pick(x, y, taps, value);
    } else {
      resample<T>(x, y, axis, taps, extrapolation, parts);
    }
    return Status::kOk;
  };
  Status s = Status::kOk;
  if (a.mode() == attrs::ResizeMode::nearest && a.coordinate() != attrs::ResizeCoordinate::tf_crop_and_resize) {
    pick(x, y, taps, nullptr);
  } else {
    s = dispatch_number(part, for_type);
  }
  return ok(s) ? s : ctx.fail(s, "Resize of {}", dtype_name(x.dtype));
}

// Positions: one word each. Weights: linear has 2 a position, cubic 4; with antialias an axis that shrinks has
// 2 support ceil(1 / scale) <= 2 support (1 / scale + 1), and out / scale <= 2 in, as out <= scale in + 0.5 and out
// >= 1.
int64_t scratch_bytes(const KernelQuery& query) {
  const auto& a = query.attrs<attrs::Resize>();
  const Shape& x = query.inputs[0].shape;
  const Shape& y = query.outputs[0].shape;
  const int64_t wide = a.mode() == attrs::ResizeMode::nearest ? 0 : a.mode() == attrs::ResizeMode::linear ? 2 : 4;
  int64_t words = 0;
  for (int k = 0; k < x.rank; ++k) {
    words = size_sum(words, size_product(y[k], 1 + wide));
    if (a.antialias()) words = size_sum(words, size_product(size_sum(x[k], y[k]), 2 * wide));
  }
  return size_product(words, 8);
}

}  // namespace

extern const RefKernel kResizeRef;
const RefKernel kResizeRef = {run_resize, scratch_bytes};

}  // namespace vireo
