// The geometry of a convolution, as the operator's folder gives it, in the form that the kernels take.
#ifndef VIREO_DELEGATES_CPU_CONV_SHAPE_H_
#define VIREO_DELEGATES_CPU_CONV_SHAPE_H_

#include "delegates/cpu/kernels/conv/conv.h"
#include "sdk/ops/conv/conv.h"

namespace vireo::cpu {

inline ConvF32 conv_shape(const Geometry& g, int64_t groups) {
  ConvF32 c;
  c.n = g.batch;
  c.in_channels = g.channels_in;
  c.out_channels = g.channels_out;
  c.groups = groups;
  for (int i = 0; i < 3; ++i) {
    c.in[i] = g.in[i];
    c.out[i] = g.out[i];
    c.kernel[i] = g.kernel[i];
    c.stride[i] = g.stride[i];
    c.dilation[i] = g.dilation[i];
    c.pad[i] = g.pad[i];
  }
  return c;
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_CONV_SHAPE_H_
