// Resize: each axis is resampled by itself, y = sum over taps of weight * x.
//   inputs   x; roi [2n] floats, optional (tf_crop_and_resize alone): starts, then ends, in parts of n - 1;
//            scales f32 [n] or sizes i64 [n] for the n axes listed: exactly one of them is there and not empty
//   y        extent floor(in * scale), or the size; type of x
// nearest takes every data type, linear and cubic take f32, f64, f16, bf16 and 8- to 32-bit integers, computed in
// double and, for integers, rounded to the nearest (even) and clamped. Weights sit in scratch memory. No aliasing.
// Source: ONNX opset 19 "Resize"; cubic: Keys 1981, "Cubic convolution interpolation for digital image processing".
#ifndef VIREO_SDK_OPS_RESIZE_RESIZE_H_
#define VIREO_SDK_OPS_RESIZE_RESIZE_H_

#include <math.h>
#include <stdint.h>

#include "sdk/ops/kernel.h"
#include "sdk/ops/resize/resize_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {

// How one axis is resampled.
struct ResizeAxis {
  int64_t in = 1, out = 1;
  double scale = 1;
  double roi_start = 0, roi_end = 1;
};

// Half the width of the kernel, in taps of the input or, with antialias, of the smaller of input and output.
inline double resize_support(const attrs::Resize& a) { return a.mode() == attrs::ResizeMode::cubic ? 2 : 1; }

inline double resize_shrink(const attrs::Resize& a, double scale) { return a.antialias() && scale < 1 ? scale : 1; }

inline double resize_weight(const attrs::Resize& a, double x) {
  x = fabs(x);
  if (a.mode() == attrs::ResizeMode::linear) return x < 1 ? 1 - x : 0;
  const double c = static_cast<double>(a.cubic_coeff_a());
  if (x <= 1) return ((c + 2) * x - (c + 3)) * x * x + 1;
  return x < 2 ? ((c * x - 5 * c) * x + 8 * c) * x - 4 * c : 0;
}

// The place on the input axis of output position i.
inline double resize_source(const attrs::Resize& a, const ResizeAxis& axis, int64_t i) {
  const double n = static_cast<double>(axis.in), p = static_cast<double>(i), wide = axis.scale * n;
  switch (a.coordinate()) {
    case attrs::ResizeCoordinate::align_corners:
      return wide == 1 ? 0 : p * (n - 1) / (wide - 1);
    case attrs::ResizeCoordinate::asymmetric:
      return p / axis.scale;
    case attrs::ResizeCoordinate::tf_crop_and_resize: {
      const double span = (axis.roi_end - axis.roi_start) * (n - 1);
      return axis.roi_start * (n - 1) + (wide == 1 ? span / 2 : p * span / (wide - 1));
    }
    case attrs::ResizeCoordinate::pytorch_half_pixel:
      return axis.out > 1 ? (p + 0.5) / axis.scale - 0.5 : 0;  // ONNX's own interpreter has -0.5 in place of 0
    case attrs::ResizeCoordinate::half_pixel_symmetric:
      return n / 2 * (1 - static_cast<double>(axis.out) / wide) + (p + 0.5) / axis.scale - 0.5;
    default:
      return (p + 0.5) / axis.scale - 0.5;
  }
}

// The element that `nearest` takes for the place x, clamped to the axis.
inline int64_t resize_nearest(attrs::ResizeNearest mode, const ResizeAxis& axis, double x) {
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

// Taps of linear or cubic: a fixed number for each axis.
inline int64_t resize_taps(const attrs::Resize& a, double scale) {
  return 2 * static_cast<int64_t>(ceil(resize_support(a) / resize_shrink(a, scale)));
}

// Weights of the taps first, first + 1, ...; taps outside the axis count for its edge element. Returns `first`.
inline int64_t resize_weights(const attrs::Resize& a, const ResizeAxis& axis, double x, int64_t taps, double* weights) {
  const double s = resize_shrink(a, axis.scale);
  // The taps are centred on the gap between floor(x) and floor(x) + 1.
  const int64_t first = static_cast<int64_t>(floor(x)) - taps / 2 + 1;
  double sum = 0;
  for (int64_t j = 0; j < taps; ++j) {
    const int64_t at = first + j;
    const bool skip = a.exclude_outside() && (at < 0 || at >= axis.in);
    weights[j] = skip ? 0 : resize_weight(a, s * (static_cast<double>(at) - x));
    sum += weights[j];
  }
  if ((a.antialias() || a.exclude_outside()) && sum != 0) {
    for (int64_t j = 0; j < taps; ++j) weights[j] /= sum;
  }
  return first;
}

constexpr int64_t kResizeOutside = INT64_MIN;  // first tap where tf_crop_and_resize leaves the input

// One axis' taps, for every output position.
struct ResizeTaps {
  int64_t n = 1;                    // per position
  int64_t* first = nullptr;         // [out]
  const double* weights = nullptr;  // [out, n]; null: 1
};

// What a Resize is told besides its attributes.
struct ResizeInputs {
  const Tensor* roi;
  const Tensor* scales;
  const Tensor* sizes;
};

// The scale of each axis from x's and y's extents, scales or sizes, and roi.
inline void read_resize_axes(const attrs::Resize& a, const Shape& x, const Shape& y, const ResizeInputs& inputs,
                             ResizeAxis* axis) {
  const Tensor *roi = inputs.roi, *scales = inputs.scales, *sizes = inputs.sizes;
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
      if (a.coordinate() == attrs::ResizeCoordinate::tf_crop_and_resize) {
        axis[k].roi_start = read_real(roi->dtype, roi->data, i);
        axis[k].roi_end = read_real(roi->dtype, roi->data, i + n);
      }
    }
  }
}

inline void read_resize_axes(const KernelContext& ctx, const attrs::Resize& a, ResizeAxis* axis) {
  read_resize_axes(a, ctx.in(0)->shape, ctx.out(0)->shape, {ctx.in(1), ctx.in(2), ctx.in(3)}, axis);
}

// An axis on which nothing happens.
inline bool resizes_nothing(const ResizeAxis& axis) {
  return axis.in == axis.out && axis.scale == 1 && axis.roi_start == 0 && axis.roi_end == 1;
}

// A place far outside stays far outside, but converts to an integer; what is no number is 0.
inline double tame_resize_place(double x) {
  constexpr double kFar = 1e15;
  return x > kFar ? kFar : x < -kFar ? -kFar : x == x ? x : 0;
}

// Fills the taps of all axes from `memory`; false when it is too small.
inline bool make_resize_taps(const attrs::Resize& a, const ResizeAxis* axis, int rank, Span<uint8_t> memory,
                             ResizeTaps* taps) {
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
    ResizeTaps& t = taps[k];
    const bool whole = resizes_nothing(r) || a.mode() == attrs::ResizeMode::nearest;
    t.n = whole ? 1 : resize_taps(a, r.scale);
    t.first = static_cast<int64_t*>(take(r.out));
    double* weights = whole ? nullptr : static_cast<double*>(take(r.out * t.n));
    if (t.first == nullptr || (!whole && weights == nullptr)) return false;
    t.weights = weights;
    for (int64_t i = 0; i < r.out; ++i) {
      const double x = resizes_nothing(r) ? static_cast<double>(i) : tame_resize_place(resize_source(a, r, i));
      if (a.coordinate() == attrs::ResizeCoordinate::tf_crop_and_resize &&
          (x < 0 || x > static_cast<double>(r.in - 1))) {
        t.first[i] = kResizeOutside;
      } else if (resizes_nothing(r)) {
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

}  // namespace vireo

#endif  // VIREO_SDK_OPS_RESIZE_RESIZE_H_
