// Softmax and its logarithm along one axis, float32.
#ifndef VIREO_DELEGATES_CPU_KERNELS_SOFTMAX_SOFTMAX_H_
#define VIREO_DELEGATES_CPU_KERNELS_SOFTMAX_SOFTMAX_H_

#include <stdint.h>

#include "sdk/base/parallel.h"

namespace vireo::cpu {

// x, y [outer, axis, inner]; y may be x. y = e^(x - max) / sum, or with `log` x - max - ln(sum).
// With u = 2^-24 the relative error is at most (axis + |x - max| + 17) u, for the logarithm an absolute one of
// (axis + 3 |x - max| + 6 ln(axis) + 12) u: each addition of the sum may round, and the shift does.
void softmax_f32(const float* x, float* y, int64_t outer, int64_t axis, int64_t inner, bool log,
                 const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_SOFTMAX_SOFTMAX_H_
