// The last step of every integer kernel: from exact int32 sums to codes of 8 bits (sdk/base/requantize.h has the
// formula).
#ifndef VIREO_DELEGATES_CPU_KERNELS_REQUANTIZE_REQUANTIZE_H_
#define VIREO_DELEGATES_CPU_KERNELS_REQUANTIZE_REQUANTIZE_H_

#include <stdint.h>

#include "sdk/base/parallel.h"

namespace vireo::cpu {

// y = clamp(rne(float(acc + bias) * multiplier) + zero_point): one float32 product, rounded to nearest even, the same
// bits on every core. Bias and multiplier per row or per column; a NaN becomes the least value.
struct SecondStep;
struct Requantize {
  const int32_t* bias = nullptr;  // or null
  const float* multiplier = nullptr;
  bool bias_per_column = false;
  bool multiplier_per_row = false, multiplier_per_column = false;  // one for all otherwise
  int32_t zero_point = 0;
  bool is_signed = false;            // int8 out, else uint8
  int32_t low = -128, high = 255;    // bounds of the codes; the type's own hold as well
  const SecondStep* then = nullptr;  // products over pixels or rows alone: no depthwise kernel looks at it
};

// What becomes of the codes while they are in registers, where the product knows of it: IntAffine's step, or IntAdd's
// with codes that lie as the result does.
//   d = float(code - zero);  v = d * (d < 0 ? below : factor) + offset | float(other - other_zero) * other_factor
//   y = clamp(rne(v) + y.zero_point), each operation one float32 operation
struct SecondStep {
  int32_t zero = 0;
  const float* factor = nullptr;
  const float* below = nullptr;   // null: factor
  const float* offset = nullptr;  // null: nothing is added, or
  bool adds = false;              // the other codes
  bool per_column = false;        // factor, below and offset; one for all otherwise
  bool other_signed = false;
  int32_t other_zero = 0;
  float other_factor = 1;
  Requantize y;  // zero point, type and bounds alone are read
};

// What becomes of sums that end as float32: y = float(acc) * factor * later + bias, each operation one float32
// operation. Of each one for all or one a column; null: none.
struct RealStep {
  const float* factor = nullptr;  // not null
  const float* later = nullptr;
  const float* bias = nullptr;
  bool factor_per_column = false, later_per_column = false, bias_per_column = false;
};

// acc [rows, columns], y likewise; both dense.
struct RequantizeI32 : Requantize {
  int64_t rows = 0, columns = 0;
};
void requantize_i32(const RequantizeI32& shape, const int32_t* acc, void* y, const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_REQUANTIZE_REQUANTIZE_H_
