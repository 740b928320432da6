// How output lines go to threads, in float32 and in bfloat16.
#ifndef VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_LINES_H_
#define VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_LINES_H_

#include "delegates/cpu/kernels/depthwise/depthwise.h"

namespace vireo::cpu {

// As many multiplications take about 5 us; lines go in pairs. Small pieces pay here: the input lies in the caches of
// the cores that wrote it.
inline int64_t lines_grain(const DepthwiseF32& s) {
  const Window& w = s.window;
  return ((int64_t{3} << 16) / (w.out_w * s.channels * w.kernel_h * w.kernel_w + 1) + 2) / 2 * 2;
}
inline bool no_lines(const DepthwiseF32& s) {
  return s.n <= 0 || s.channels <= 0 || s.window.out_h <= 0 || s.window.out_w <= 0;
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_KERNELS_DEPTHWISE_NHWC_LINES_H_
