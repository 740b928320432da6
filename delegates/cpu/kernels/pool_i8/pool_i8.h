// Max and average pooling of 8-bit codes, NCHW. Sums are exact; codes as in sdk/ops/INTEGER.md.
#ifndef VIREO_DELEGATES_CPU_KERNELS_POOL_I8_POOL_I8_H_
#define VIREO_DELEGATES_CPU_KERNELS_POOL_I8_POOL_I8_H_

#include <stddef.h>

#include "delegates/cpu/kernels/requantize/requantize.h"
#include "delegates/cpu/kernels/window.h"

namespace vireo::cpu {

struct PoolI8 {
  int64_t planes = 1;  // N * C
  Window window;
  int64_t pad_bottom = 0, pad_right = 0;  // read where padding counts
  bool is_max = true;                     // else the average:
  bool count_padding = false;             // taps in the padding count, not those beyond pad_bottom and pad_right
  bool x_signed = false;
  int32_t x_zero = 0;
  const float* multiplier = nullptr;  // by the number of taps counted, or
  bool one_multiplier = false;        // one for all
  Requantize finish;                  // zero point, type and bounds alone are read
};
// Of `shape` only the sizes are read. Enough for all smaller sizes.
size_t pool_i8_scratch_bytes(const PoolI8& shape, int32_t slots);

// x [planes, H, W], y [planes, OH, OW], which overlap nothing.
void pool_i8(const PoolI8& shape, const uint8_t* x, uint8_t* y, const Parallel& parallel, void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_POOL_I8_POOL_I8_H_
