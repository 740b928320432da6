// The last step of every integer kernel: from exact int32 sums to codes of 8 bits (sdk/base/requantize.h has the
// formula).
#ifndef VIREO_DELEGATES_CPU_KERNELS_REQUANTIZE_REQUANTIZE_H_
#define VIREO_DELEGATES_CPU_KERNELS_REQUANTIZE_REQUANTIZE_H_

#include <stdint.h>

#include "sdk/base/parallel.h"

namespace vireo::cpu {

// y = clamp(rne(float(acc + bias) * multiplier) + zero_point): one float32 product, rounded to nearest even, the same
// bits on every core. Bias and multiplier per row or per column; a NaN becomes the least value.
struct Requantize {
  const int32_t* bias = nullptr;  // or null
  const float* multiplier = nullptr;
  bool bias_per_column = false;
  bool multiplier_per_row = false, multiplier_per_column = false;  // one for all otherwise
  int32_t zero_point = 0;
  bool is_signed = false;          // int8 out, else uint8
  int32_t low = -128, high = 255;  // bounds of the codes; the type's own hold as well
};

// acc [rows, columns], y likewise; both dense.
struct RequantizeI32 : Requantize {
  int64_t rows = 0, columns = 0;
};
void requantize_i32(const RequantizeI32& shape, const int32_t* acc, void* y, const Parallel& parallel);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_REQUANTIZE_REQUANTIZE_H_
