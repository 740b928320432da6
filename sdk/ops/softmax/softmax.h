// Softmax along one axis:  y[k] = exp(x[k] - m) / sum_j exp(x[j] - m),  m = max_j x[j].
// The shift by m makes every exponent <= 0, so finite inputs cannot overflow.
// LogSoftmax:  y[k] = x[k] - m - log(sum_j exp(x[j] - m)).      Hardmax:  y[k] = 1 at the first maximum, 0 elsewhere.
//   x        [outer, axis, inner] after collapsing; f32, f64, f16 or bf16
//   y        shape and dtype of x
//   alias    y may be x;  scratch none;  error kInvalidModel when axis is outside [-rank, rank)
//   accuracy the sum is float64, so its error does not grow with the axis
// Source: ONNX opset 13 "Softmax", "LogSoftmax", "Hardmax".
#ifndef VIREO_SDK_OPS_SOFTMAX_SOFTMAX_H_
#define VIREO_SDK_OPS_SOFTMAX_SOFTMAX_H_

#include <stdint.h>

namespace vireo {

// x, y: [outer, axis, inner], row-major; y may be x.
void softmax_f32_ref(const float* x, float* y, int64_t outer, int64_t axis, int64_t inner);

}  // namespace vireo

#endif  // VIREO_SDK_OPS_SOFTMAX_SOFTMAX_H_
