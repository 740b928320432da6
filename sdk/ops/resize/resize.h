// Resize: each axis is resampled by itself, y = sum over taps of weight * x.
//   inputs   x; roi [2n] floats, optional (tf_crop_and_resize alone): starts, then ends, in parts of n - 1;
//            scales f32 [n] or sizes i64 [n] for the n axes listed: exactly one of them is there and not empty
//   y        extent floor(in * scale), or the size; type of x
// nearest takes every data type, linear and cubic take f32, f64, f16, bf16 and 8- to 32-bit integers, computed in
// double and, for integers, rounded to the nearest (even) and clamped. Weights sit in scratch memory. No aliasing.
// Source: ONNX opset 19 "Resize"; cubic: Keys 1981, "Cubic convolution interpolation for digital image processing".
#ifndef VIREO_SDK_OPS_RESIZE_RESIZE_H_
#define VIREO_SDK_OPS_RESIZE_RESIZE_H_

#include <stdint.h>

#include "sdk/ops/resize/resize_generated.h"

namespace vireo {

// How one axis is resampled.
struct ResizeAxis {
  int64_t in = 1, out = 1;
  double scale = 1;
  double roi_start = 0, roi_end = 1;
};

// The place on the input axis of output position i.
double resize_source(const attrs::Resize& a, const ResizeAxis& axis, int64_t i);
// The element that `nearest` takes for the place x, clamped to the axis.
int64_t resize_nearest(attrs::ResizeNearest mode, const ResizeAxis& axis, double x);
// Taps of linear or cubic: a fixed number for each axis.
int64_t resize_taps(const attrs::Resize& a, double scale);
// Weights of the taps first, first + 1, ...; taps outside the axis count for its edge element. Returns `first`.
int64_t resize_weights(const attrs::Resize& a, const ResizeAxis& axis, double x, int64_t taps, double* weights);

}  // namespace vireo

#endif  // VIREO_SDK_OPS_RESIZE_RESIZE_H_
