// Scalar functions that kernels apply to what they just computed, and that stand alone as operators.
#ifndef VIREO_DELEGATES_CPU_KERNELS_ACTIVATION_ACTIVATION_H_
#define VIREO_DELEGATES_CPU_KERNELS_ACTIVATION_ACTIVATION_H_

#include <stdint.h>

#include "sdk/base/parallel.h"

namespace vireo::cpu {

// A and B are the numbers in `Activate`. All hand NaN through.
enum class Activation : uint8_t {
  kNone,
  kRelu,         // max(x, 0)
  kClip,         // min(max(x, A), B)
  kLeakyRelu,    // x < 0 ? A x : x
  kHardSigmoid,  // min(max(A x + B, 0), 1)
  kHardSwish,    // x min(max(x / 6 + 1/2, 0), 1)
  kSigmoid,      // 1 / (1 + e^-x)
  kSilu,         // x sigmoid(A x); A = 1 for SiLU, other for Swish
  kTanh,
  kGelu,             // x (1 + erf(x / sqrt 2)) / 2
  kGeluTanh,         // its tanh form
  kElu,              // x < 0 ? A (e^x - 1) : x
  kSelu,             // B (x < 0 ? A (e^x - 1) : x)
  kCelu,             // x < 0 ? A (e^(x / A) - 1) : x
  kSoftplus,         // ln(1 + e^x)
  kSoftsign,         // x / (1 + |x|)
  kMish,             // x tanh(softplus(x))
  kThresholdedRelu,  // x > A ? x : 0
  kExp,
  kLog,
  kSqrt,
  kReciprocal,
  kErf,
  kAbs,
  kNeg,
  kFloor,
  kCeil,
  kRound,  // to nearest, ties to even
  kSquare,
  kSin,
  kCos,
};

struct Activate {
  Activation kind = Activation::kNone;
  float a = 0;
  float b = 0;
};

// y[i] = f(x[i]) for i in [0, count). y may be x. Error bounds: see math-inl.h.
void activate_f32(const float* x, float* y, int64_t count, const Activate& f, const Parallel& parallel);

// What is left to do on a finished row of sums:  y = f(scale * y + row_bias + col_bias + residual) + late_residual, or
// times late_factor. Pointers may be null; col_bias, slope, the residuals and the factor have `count` elements. Serial.
struct RowFinish {
  float scale = 1;
  float row_bias = 0;
  const float* col_bias = nullptr;
  const float* residual = nullptr;
  float residual_scale = 1;
  const float* late_residual = nullptr;
  const float* late_factor = nullptr;
  const float* slope = nullptr;  // in place of f: x < 0 ? slope[i] x : x
  Activate f;
};
// PRelu with one slope a row: `slope` is a row's own, or null for f.
inline Activate activation_of_row(const Activate& f, const float* slope) {
  return slope == nullptr ? f : Activate{Activation::kLeakyRelu, *slope, 0};
}
void finish_row_f32(float* y, int64_t count, const RowFinish& finish);
// `rows` rows at once, `step` floats apart: their residuals and factors are `with_step` apart, all else is shared.
void finish_rows_f32(float* y, int64_t step, int64_t rows, int64_t count, const RowFinish& finish, int64_t with_step);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_ACTIVATION_ACTIVATION_H_
