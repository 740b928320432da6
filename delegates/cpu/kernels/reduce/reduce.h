// Reductions over one run of axes, float32.
#ifndef VIREO_DELEGATES_CPU_KERNELS_REDUCE_REDUCE_H_
#define VIREO_DELEGATES_CPU_KERNELS_REDUCE_REDUCE_H_

#include <stddef.h>
#include <stdint.h>

#include "sdk/base/parallel.h"

namespace vireo::cpu {

enum class Reduce : uint8_t {
  kSum,
  kMean,
  kMax,  // NaN when one is there
  kMin,  // likewise
  kSumSquare,
  kSumAbs,
  kProduct,
};

// y[o, i] = reduce over a of x[o, a, i]; neighbouring axes that are reduced together count as one, and so do those that
// are kept. axis = 0 gives the neutral element (mean: NaN). y overlaps nothing.
void reduce_f32(Reduce kind, const float* x, float* y, int64_t outer, int64_t axis, int64_t inner,
                const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_REDUCE_REDUCE_H_
