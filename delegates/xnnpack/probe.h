// What XNNPACK's kernels for this CPU do where its kernels differ. It is found out by small runs, not looked up: the
// table of kernels is XNNPACK's, and a second one here would be wrong one day.
#ifndef VIREO_DELEGATES_XNNPACK_PROBE_H_
#define VIREO_DELEGATES_XNNPACK_PROBE_H_

#include <stdint.h>

namespace vireo::xnnpack {

struct Kernels {
  // Two products of (-128) * (-128) are added without a loss: in 32 bits. Some add them in 16.
  bool codes_dense = false, codes_depthwise = false;
  // float16 at all; products, convolutions and means whose sums are float32's.
  bool half = false, half_dense = false, half_depthwise = false, half_pool = false, half_mean = false;
  // Products of float32 with weights in codes of 8 and 4 bits: f32-qc8w, f32-qc4w.
  bool weights8 = false, weights4 = false;
  // Of known filters as they pack them: other kernels' layouts have another.
  uint64_t layout = 0;
};

// Asked at the first call, after xnn_initialize.
const Kernels& kernels();

}  // namespace vireo::xnnpack

#endif  // VIREO_DELEGATES_XNNPACK_PROBE_H_
