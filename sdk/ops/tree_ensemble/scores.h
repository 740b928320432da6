// What ai.onnx.ml does to a row of scores before it gives them out.
#ifndef VIREO_SDK_OPS_TREE_ENSEMBLE_SCORES_H_
#define VIREO_SDK_OPS_TREE_ENSEMBLE_SCORES_H_

#include <math.h>
#include <stdint.h>

#include "sdk/ops/tree_ensemble/tree_ensemble_generated.h"

namespace vireo {

inline double logistic(double x) {
  const double e = exp(-fabs(x));  // of nothing positive: no overflow
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

// The inverse of the normal distribution's cumulative function: NaN outside [0, 1]. Winitzki's 2008 closed form for the
// inverse of erf (relative error 2e-3) is brought to double precision by three steps of Newton's method.
inline double probit(double p) {
  const double y = 2 * p - 1;
  if (!(y > -1 && y < 1)) return y == 1 ? INFINITY : (y == -1 ? -INFINITY : NAN);
  constexpr double kPi = 3.14159265358979323846, kA = 0.147;
  const double l = log((1 - y) * (1 + y)), v = 2 / (kPi * kA) + l / 2;
  double x = copysign(sqrt(sqrt(v * v - l / kA) - v), y);
  for (int i = 0; i < 3; ++i) x -= (erf(x) - y) * (sqrt(kPi) / 2) * exp(x * x);
  return sqrt(2.0) * x;
}

// `n` scores in place. SoftmaxZero keeps zeros zero and normalises the rest.
inline void transform_scores(attrs::TreeTransform transform, double* s, int64_t n) {
  switch (transform) {
    case attrs::TreeTransform::None:
      return;
    case attrs::TreeTransform::Logistic:
      for (int64_t k = 0; k < n; ++k) s[k] = logistic(s[k]);
      return;
    case attrs::TreeTransform::Probit:
      for (int64_t k = 0; k < n; ++k) s[k] = probit(s[k]);
      return;
    case attrs::TreeTransform::Softmax:
    case attrs::TreeTransform::SoftmaxZero: {
      const bool skip_zero = transform == attrs::TreeTransform::SoftmaxZero;
      double top = -INFINITY, sum = 0;
      for (int64_t k = 0; k < n; ++k) top = s[k] > top ? s[k] : top;
      for (int64_t k = 0; k < n; ++k) {
        const bool zero = skip_zero && fabs(s[k]) <= 1e-7;  // the bound of ONNX's reference
        s[k] = zero ? s[k] * exp(-top) : exp(s[k] - top);
        sum += s[k];
      }
      for (int64_t k = 0; k < n; ++k) s[k] = sum == 0 ? 0.5 : s[k] / sum;
      return;
    }
  }
}

}  // namespace vireo

#endif  // VIREO_SDK_OPS_TREE_ENSEMBLE_SCORES_H_
