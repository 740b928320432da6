// Elementwise functions of two float32 tensors with broadcasting. Functions of one tensor are in activation/.
#ifndef VIREO_DELEGATES_CPU_KERNELS_ELTWISE_ELTWISE_H_
#define VIREO_DELEGATES_CPU_KERNELS_ELTWISE_ELTWISE_H_

#include <stdint.h>

#include "delegates/cpu/kernels/eltwise/broadcast.h"
#include "sdk/base/parallel.h"

namespace vireo::cpu {

enum class Binary : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMin,    // NaN when either is
  kMax,    // likewise
  kPow,    // a^b as pow() of the C library; a^2, a^3, a^0.5, a^1 and a^-1 for one exponent for all are short cuts
  kPrelu,  // a < 0 ? a * b : a
  kSquaredDifference,  // (a - b)^2
};

struct BinaryF32 : Broadcast {
  Binary op = Binary::kAdd;
};

// y[i] = op(a[i], b[i]). y may be a or b where that one is dense.
void binary_f32(const BinaryF32& shape, const float* a, const float* b, float* y, const Parallel& parallel);

// bfloat16: y[i, r, c] = x[i, r, c] * scale[i, c] in float32, rounded once. x and y [images, rows, columns]; y may be
// x.
void scale_rows_bf16(const uint16_t* x, const uint16_t* scale, uint16_t* y, int64_t images, int64_t rows,
                     int64_t columns, const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_ELTWISE_ELTWISE_H_
