// Depthwise convolution of 8-bit codes, NCHW: each output plane sees one input plane. Sums are exact int32; beyond that
// they wrap modulo 2^32.
#ifndef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_I8_DEPTHWISE_I8_H_
#define VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_I8_DEPTHWISE_I8_H_

#include <stddef.h>

#include "delegates/cpu/kernels/requantize/requantize.h"
#include "delegates/cpu/kernels/window.h"

namespace vireo::cpu {

struct DepthwiseI8 {
  int64_t n = 1, channels = 1, multiplier = 1;  // output channels: channels * multiplier
  int64_t depth = 1;                            // planes of one channel that share its weights
  Window window;
  bool x_signed = false, w_signed = false;
  int32_t x_zero = 0;            // padding counts as it
  const void* w_zero = nullptr;  // one, or one for each output channel; null: 0
  bool w_zero_per_channel = false;
  const Requantize* finish = nullptr;  // rows are output channels; null: y is int32
};
// Of `shape` only the sizes are read. Enough for all smaller sizes.
size_t depthwise_i8_scratch_bytes(const DepthwiseI8& shape, int32_t slots);

// x [n, channels, depth, H, W], weights [channels * multiplier, KH, KW], y [n, channels * multiplier, depth, OH, OW].
void depthwise_i8(const DepthwiseI8& shape, const void* x, const void* weights, void* y, const Parallel& parallel,
                  void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_I8_DEPTHWISE_I8_H_
