#include "sdk/ops/resize/resize.h"

#include <math.h>

#include <limits>
#include <type_traits>

#include "sdk/ops/dispatch.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/strided.h"
#include "sdk/ops/value_reader.h"

namespace vireo {
namespace {

using Coordinate = attrs::ResizeCoordinate;

// Half the width of the kernel, in taps of the input or, with antialias, of the smaller of input and output.
double support(const attrs::Resize& a) { return a.mode() == attrs::ResizeMode::cubic ? 2 : 1; }

double shrink(const attrs::Resize& a, double scale) { return a.antialias() && scale < 1 ? scale : 1; }

double weight_at(const attrs::Resize& a, double x) {
  x = fabs(x);
  if (a.mode() == attrs::ResizeMode::linear) return x < 1 ? 1 - x : 0;
  const double c = static_cast<double>(a.cubic_coeff_a());
  if (x <= 1) return ((c + 2) * x - (c + 3)) * x * x + 1;
  return x < 2 ? ((c * x - 5 * c) * x + 8 * c) * x - 4 * c : 0;
}

constexpr int64_t kOutside = INT64_MIN;  // first tap where tf_crop_and_resize leaves the input

// One axis' taps, for every output position.
struct Taps {
  int64_t n = 1;                    // per position
  int64_t* first = nullptr;         // [out]
  const double* weights = nullptr;  // [out, n]; null: 1
};

// The scale of each axis, from scales or sizes, and roi.
void read_axes(const KernelContext& ctx, const attrs::Resize& a, ResizeAxis* axis) {
  const Shape& x = ctx.in(0)->shape;
  const Shape& y = ctx.out(0)->shape;
  const Tensor* roi = ctx.in(1);
  const Tensor* scales = ctx.in(2);
  const Tensor* sizes = ctx.in(3);
  for (int k = 0; k < x.rank; ++k) {
    axis[k].in = x[k];
    axis[k].out = y[k];
  }
  const int n = a.axes() == nullptr ? x.rank : static_cast<int>(a.axes()->size());
  const bool by_scale = scales != nullptr && scales->count() > 0;
  double common = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < n; ++i) {
      const int k = a.axes() == nullptr ? i : normalize_axis(a.axes()->Get(static_cast<unsigned>(i)), x.rank);
      if (by_scale) {
        axis[k].scale = static_cast<double>(scales->as<const float>()[i]);
      } else if (pass == 0) {
        axis[k].scale = static_cast<double>(sizes->as<const int64_t>()[i]) / static_cast<double>(x[k]);
        const bool better =
            a.policy() == attrs::ResizePolicy::not_larger ? axis[k].scale < common : axis[k].scale > common;
        if (i == 0 || better) common = axis[k].scale;
      } else if (a.policy() != attrs::ResizePolicy::stretch) {
        axis[k].scale = common;
      }
      if (a.coordinate() == Coordinate::tf_crop_and_resize) {
        axis[k].roi_start = read_real(roi->dtype, roi->data, i);
        axis[k].roi_end = read_real(roi->dtype, roi->data, i + n);
      }
    }
  }
}

// An axis on which nothing happens.
bool is_identity(const ResizeAxis& axis) {
  return axis.in == axis.out && axis.scale == 1 && axis.roi_start == 0 && axis.roi_end == 1;
}

// A place far outside stays far outside, but converts to an integer; what is no number is 0.
double tame(double x) {
  constexpr double kFar = 1e15;
  return x > kFar ? kFar : x < -kFar ? -kFar : x == x ? x : 0;
}

// Fills the taps of all axes from `memory`; false when it is too small.
bool make_taps(const attrs::Resize& a, const ResizeAxis* axis, int rank, Span<uint8_t> memory, Taps* taps) {
  uint8_t* p = memory.data();
  size_t left = memory.size();
  const auto take = [&](int64_t words) {
    const size_t bytes = static_cast<size_t>(words) * 8;
    if (bytes > left) return static_cast<void*>(nullptr);
    void* at = p;
    p += bytes;
    left -= bytes;
    return at;
  };
  for (int k = 0; k < rank; ++k) {
    const ResizeAxis& r = axis[k];
    Taps& t = taps[k];
    const bool whole = is_identity(r) || a.mode() == attrs::ResizeMode::nearest;
    t.n = whole ? 1 : resize_taps(a, r.scale);
    t.first = static_cast<int64_t*>(take(r.out));
    double* weights = whole ? nullptr : static_cast<double*>(take(r.out * t.n));
    if (t.first == nullptr || (!whole && weights == nullptr)) return false;
    t.weights = weights;
    for (int64_t i = 0; i < r.out; ++i) {
      const double x = is_identity(r) ? static_cast<double>(i) : tame(resize_source(a, r, i));
      if (a.coordinate() == Coordinate::tf_crop_and_resize && (x < 0 || x > static_cast<double>(r.in - 1))) {
        t.first[i] = kOutside;
      } else if (is_identity(r)) {
        t.first[i] = i;
      } else if (whole) {
        t.first[i] = resize_nearest(a.nearest(), r, x);
      } else {
        t.first[i] = resize_weights(a, r, x, t.n, weights + i * t.n);
      }
    }
  }
  return true;
}

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
double gather(const T* x, const StridedView& dense, const ResizeAxis* axis, const Taps* taps, const int64_t* i, int k,
              int rank) {
  if (k == rank) return static_cast<double>(static_cast<compute_t<T>>(*x));
  const Taps& t = taps[k];
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

bool outside(const Taps* taps, const int64_t* i, int rank) {
  for (int k = 0; k < rank; ++k) {
    if (taps[k].first[i[k]] == kOutside) return true;
  }
  return false;
}

template <class T>
void resample(const Tensor& x, Tensor& y, const ResizeAxis* axis, const Taps* taps, double extrapolation) {
  const StridedView dense = dense_view(x.shape);
  int64_t i[kMaxRank] = {};
  T* out = y.as<T>();
  do {
    const double v =
        outside(taps, i, x.shape.rank) ? extrapolation : gather(x.as<const T>(), dense, axis, taps, i, 0, x.shape.rank);
    *out++ = from_double<T>(v);
  } while (next_index(y.shape, i));
}

// `value`: an element of y's type for places outside.
void pick(const Tensor& x, Tensor& y, const Taps* taps, const void* value) {
  const StridedView dense = dense_view(x.shape);
  int64_t i[kMaxRank] = {};
  (void)dispatch_size(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* out = y.as<T>();
    do {
      int64_t at = 0;
      const bool off = outside(taps, i, x.shape.rank);
      for (int k = 0; k < x.shape.rank && !off; ++k) at += taps[k].first[i[k]] * dense.strides[k];
      *out++ = off ? *static_cast<const T*>(value) : x.as<const T>()[at];
    } while (next_index(y.shape, i));
    return Status::kOk;
  });
}

Status run(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::Resize>();
  const Tensor& x = *ctx.in(0);
  Tensor& y = *ctx.out(0);
  if (y.count() == 0) return Status::kOk;
  ResizeAxis axis[kMaxRank];
  Taps taps[kMaxRank];
  read_axes(ctx, a, axis);
  if (!make_taps(a, axis, x.shape.rank, ctx.scratch, taps)) {
    return ctx.fail(Status::kOutOfArena, "Resize: {} to {} needs more scratch than was planned", x.shape, y.shape);
  }
  const double extrapolation = static_cast<double>(a.extrapolation_value());
  const auto for_type = [&](auto tag) {
    using T = decltype(tag);
    if (a.mode() == attrs::ResizeMode::nearest) {
      const T value = from_double<T>(extrapolation);
      pick(x, y, taps, &value);
    } else if constexpr (sizeof(T) <= 4 || !std::is_integral<T>::value) {
      resample<T>(x, y, axis, taps, extrapolation);
    } else {
      return Status::kUnsupported;
    }
    return Status::kOk;
  };
  Status s = Status::kOk;
  if (a.mode() == attrs::ResizeMode::nearest && a.coordinate() != Coordinate::tf_crop_and_resize) {
    pick(x, y, taps, nullptr);
  } else {
    s = dispatch_number(x.dtype, for_type);
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
  for (int k = 0; k < x.rank; ++k) words += y[k] + wide * y[k] + (a.antialias() ? 2 * wide * (x[k] + y[k]) : 0);
  return words * 8;
}

}  // namespace

double resize_source(const attrs::Resize& a, const ResizeAxis& axis, int64_t i) {
  const double n = static_cast<double>(axis.in), p = static_cast<double>(i), wide = axis.scale * n;
  switch (a.coordinate()) {
    case Coordinate::align_corners:
      return wide == 1 ? 0 : p * (n - 1) / (wide - 1);
    case Coordinate::asymmetric:
      return p / axis.scale;
    case Coordinate::tf_crop_and_resize: {
      const double span = (axis.roi_end - axis.roi_start) * (n - 1);
      return axis.roi_start * (n - 1) + (wide == 1 ? span / 2 : p * span / (wide - 1));
    }
    case Coordinate::pytorch_half_pixel:
      return wide == 1 ? -0.5 : (p + 0.5) / axis.scale - 0.5;
    case Coordinate::half_pixel_symmetric:
      return n / 2 * (1 - static_cast<double>(axis.out) / wide) + (p + 0.5) / axis.scale - 0.5;
    default:
      return (p + 0.5) / axis.scale - 0.5;
  }
}

int64_t resize_nearest(attrs::ResizeNearest mode, const ResizeAxis& axis, double x) {
  const double low = floor(x), part = x - low;
  bool up = false;
  switch (mode) {
    case attrs::ResizeNearest::round_prefer_floor:
      up = part > 0.5;
      break;
    case attrs::ResizeNearest::round_prefer_ceil:
      up = part >= 0.5;
      break;
    case attrs::ResizeNearest::floor:
      break;
    case attrs::ResizeNearest::ceil:
      up = part > 0;
      break;
    default:
      up = axis.scale < 1 && part > 0;
      break;
  }
  const double at = up ? low + 1 : low, last = static_cast<double>(axis.in - 1);
  return static_cast<int64_t>(at > 0 ? (at < last ? at : last) : 0);
}

int64_t resize_taps(const attrs::Resize& a, double scale) {
  return 2 * static_cast<int64_t>(ceil(support(a) / shrink(a, scale)));
}

int64_t resize_weights(const attrs::Resize& a, const ResizeAxis& axis, double x, int64_t taps, double* weights) {
  const double s = shrink(a, axis.scale);
  // The taps are centred on the gap between floor(x) and floor(x) + 1.
  const int64_t first = static_cast<int64_t>(floor(x)) - taps / 2 + 1;
  double sum = 0;
  for (int64_t j = 0; j < taps; ++j) {
    const int64_t at = first + j;
    const bool skip = a.exclude_outside() && (at < 0 || at >= axis.in);
    weights[j] = skip ? 0 : weight_at(a, s * (static_cast<double>(at) - x));
    sum += weights[j];
  }
  if ((a.antialias() || a.exclude_outside()) && sum != 0) {
    for (int64_t j = 0; j < taps; ++j) weights[j] /= sum;
  }
  return first;
}

extern const RefKernel kResizeRef;
const RefKernel kResizeRef = {run, scratch_bytes};

}  // namespace vireo
