// Normalisation, float32: layer, RMS, instance and group norm, and the affine map that batch norm is at inference.
#ifndef VIREO_DELEGATES_CPU_KERNELS_NORM_NORM_H_
#define VIREO_DELEGATES_CPU_KERNELS_NORM_NORM_H_

#include <stdint.h>

#include "sdk/base/parallel.h"

namespace vireo::cpu {

// Each of `rows` rows of `size` floats on its own:  y = (x - mean) / sqrt(variance + epsilon) * scale + shift, with the
// biased variance of the row; `rms` leaves the mean out and takes the mean square. Mean and variance are two passes, so
// that a large mean does not cost digits of the variance.
//   layer norm     rows = outer, size = normalised elements, inner = 1, period = size
//   instance norm  rows = N C, size = H W, inner = H W, period = C
//   group norm     rows = N G, size = C / G H W, inner = H W, period = C
// Element i of row r uses scale[(r * size + i) / inner % period], shift alike; either may be null (1 and 0).
struct NormF32 {
  int64_t rows = 0, size = 0;
  int64_t inner = 1, period = 1;
  float epsilon = 1e-5f;
  bool rms = false;
  const float* scale = nullptr;
  const float* shift = nullptr;
  // What is normalised is x + residual, added row by row; null: x. The sums go to `sum`, or nowhere when it is null.
  const float* residual = nullptr;
  float* sum = nullptr;
  float* mean = nullptr;     // [rows] or null
  float* inverse = nullptr;  // [rows]: 1 / sqrt(variance + epsilon), or null
};

// y may be x; with a residual, y or sum may be x or the residual, each another one.
void norm_f32(const NormF32& shape, const float* x, float* y, const Parallel& parallel);

// The same for rows of one scale and shift for each element (inner 1, period `size`), without a residual and without
// what it tells of rows; y is rounded to bfloat16 and overlaps nothing.
void norm_bf16(const NormF32& shape, const float* x, uint16_t* y, const Parallel& parallel);

// y[n, c, i] = x[n, c, i] * scale[c] + shift[c]; null shift is 0. y may be x.
void channel_affine_f32(const float* x, float* y, int64_t outer, int64_t channels, int64_t inner, const float* scale,
                        const float* shift, const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_NORM_NORM_H_
