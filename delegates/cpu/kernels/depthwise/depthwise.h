// Depthwise convolution, NCHW float32: each output channel sees one input channel.
#ifndef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_DEPTHWISE_H_
#define VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_DEPTHWISE_H_

#include <stddef.h>

#include "delegates/cpu/kernels/gemm/gemm.h"
#include "delegates/cpu/kernels/window.h"

namespace vireo::cpu {

struct DepthwiseF32 {
  int64_t n = 1;
  int64_t channels = 1;    // of the input
  int64_t multiplier = 1;  // output channels per input channel: channel o sees input channel o / multiplier
  Window window;
  const float* bias = nullptr;      // [O] or null
  const float* residual = nullptr;  // [N, O, OH, OW] or null
  bool residual_last = false;       // added after `act`
  bool residual_times = false;      // multiplied after `act` instead
  Activate act;
  const float* slope = nullptr;  // [O] or null. PRelu in place of `act`: x < 0 ? slope[o] x : x
};

size_t depthwise_f32_scratch_bytes(const DepthwiseF32& shape, int32_t slots, Sizes sizes = Sizes::kUpperBounds);

// x [N, C, H, W], weights [O, 1, kh, kw] with O = C * multiplier, y [N, O, OH, OW], overlapping nothing.
void depthwise_f32(const DepthwiseF32& shape, const float* x, const float* weights, float* y, const Parallel& parallel,
                   void* scratch);

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_DEPTHWISE_H_
